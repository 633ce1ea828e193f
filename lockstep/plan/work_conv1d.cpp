// SPDX-License-Identifier: Apache-2.0
// The convolutional model on spoken digits: three wide convolutions over the
// waveform, then two fully connected layers. Few weights, much arithmetic.
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {

WorkPlan plan_conv1d(const ModelConfig& config) {
  WorkBuilder b(config.kind, {1, kClipSamples});
  LayerTensor x = b.input();
  for (std::size_t i = 0; i < kConv1dStages.size(); ++i) {
    const Conv1dStage& s = kConv1dStages[i];
    const std::string n = std::to_string(i + 1);
    x = b.conv(x, "conv" + n,
               {.out = s.kernels,
                .kernel = s.width,
                .padding = s.padding,
                .bias = true});
    x = b.relu(x, "relu" + n);
    x = b.max_pool(x, "pool" + n, {.kernel = s.pool, .stride = s.pool});
  }
  x = WorkBuilder::view(x, {numel(x.shape)});
  x = b.linear(x, "fc1", {.out = kConv1dHidden});
  x = b.sigmoid(x, "sigmoid");
  b.linear(x, "fc2", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
