// SPDX-License-Identifier: Apache-2.0
// The plans of the built-in models, one file a family. plan_work() chooses;
// every config here has its sizes filled in.
#pragma once

#include "lockstep/plan/work_plan.h"

namespace lockstep {

WorkPlan plan_linear(const ModelConfig& config);
WorkPlan plan_conv1d(const ModelConfig& config);
WorkPlan plan_variable(const ModelConfig& config);
WorkPlan plan_resnet(const ModelConfig& config);
WorkPlan plan_mobilenet_v2(const ModelConfig& config);
WorkPlan plan_vit(const ModelConfig& config);
WorkPlan plan_gpt(const ModelConfig& config);
WorkPlan plan_quick(const ModelConfig& config);

}  // namespace lockstep
