// SPDX-License-Identifier: Apache-2.0
// update_body.h for one instruction set; the flags are in LockstepTrain.cmake.
#include "lockstep/kernels/update_body.h"

namespace lockstep {

const UpdateTable kUpdatePlain{sgd, adam, lamb_moments, lamb_apply,
                               sum_of_squares};

}  // namespace lockstep
