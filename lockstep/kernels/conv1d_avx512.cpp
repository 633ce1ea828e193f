// SPDX-License-Identifier: Apache-2.0
// conv1d_body.h for one instruction set. 32 registers of 16 floats: 25 sums.
#include "lockstep/kernels/conv1d_body.h"

namespace lockstep {

const Conv1dTable kConv1dAvx512{conv_rows<Float16, 5>, conv_taps<Float16, 5, 5>,
                                relu_pool};

}  // namespace lockstep
