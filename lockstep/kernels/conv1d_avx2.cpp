// SPDX-License-Identifier: Apache-2.0
// conv1d_body.h for one instruction set. Sixteen registers of 8 floats: 10
// sums.
#include "lockstep/kernels/conv1d_body.h"

namespace lockstep {

const Conv1dTable kConv1dAvx2{conv_rows<Float8, 2>, conv_taps<Float8, 5, 2>,
                              relu_pool};

}  // namespace lockstep
