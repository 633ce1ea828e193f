// SPDX-License-Identifier: Apache-2.0
// The fully connected model on spoken digits: 12000 -> 1000 -> 100 -> 10 -> 10.
// Its weights are many for the little it computes.
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {

WorkPlan plan_linear(const ModelConfig& config) {
  WorkBuilder b(config.kind, {1, kClipSamples});
  LayerTensor x = b.linear(b.input(), "fc1", {.out = kLinearWidths[0]});
  x = b.relu(x, "relu1");
  x = b.linear(x, "fc2", {.out = kLinearWidths[1]});
  x = b.relu(x, "relu2");
  x = b.linear(x, "fc3", {.out = kLinearWidths[2]});
  x = b.sigmoid(x, "sigmoid");
  b.linear(x, "fc4", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
