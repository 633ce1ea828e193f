// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace lockstep {

// The middle value, or the mean of the two in the middle. What is not finite
// was not measured and does not count; NaN when nothing is left.
double median(std::vector<double> values);

}  // namespace lockstep
