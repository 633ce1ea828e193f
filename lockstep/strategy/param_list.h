// SPDX-License-Identifier: Apache-2.0
// What of a module can travel, for plan(): from the module itself, so that a
// user's own is planned like a built-in one.
#pragma once

#include "lockstep/model/module.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

ParamList param_list(const FlatParams& params, torch::nn::Module& module);

}  // namespace lockstep
