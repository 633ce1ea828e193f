// SPDX-License-Identifier: Apache-2.0
// ReLU and max pooling of rows that were just computed, and the way back. Both
// methods of convolution call it while the rows are still in a core's cache.
#pragma once

#include <cstdint>

#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/conv1d_table.h"

namespace lockstep {

// The inner loops of the direct method for an instruction set.
const Conv1dTable& conv1d_table(Isa isa);

// Writes the gradient of one row before pooling, `positions` numbers, and
// returns the sum of what arrived.
double unpool_row(const float* grad, const std::uint8_t* where,
                  const ConvShape& shape, float* row);

}  // namespace lockstep
