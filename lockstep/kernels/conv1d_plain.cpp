// SPDX-License-Identifier: Apache-2.0
// conv1d_body.h for one instruction set. Sixteen registers of 4 floats: 10
// sums.
#include "lockstep/kernels/conv1d_body.h"

namespace lockstep {

const Conv1dTable kConv1dPlain{conv_rows<Float4, 2>, conv_taps<Float4, 5, 2>,
                               relu_pool};

}  // namespace lockstep
