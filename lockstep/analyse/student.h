// SPDX-License-Identifier: Apache-2.0
// Student's t: how much wider an interval must be that rests on few blocks.
#pragma once

namespace lockstep {

// P(T <= t) with so many degrees of freedom (not only whole ones).
double student_cdf(double t, double degrees_of_freedom);

// The t with P(T <= t) = share; share in (0, 1).
double student_quantile(double share, double degrees_of_freedom);

}  // namespace lockstep
