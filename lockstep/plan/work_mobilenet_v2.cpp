// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 as torchvision builds it: inverted residuals, depth-wise
// convolutions, one fully connected layer as head.
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

// Conv2dNormActivation: path.0 and path.1, then ReLU6.
LayerTensor conv_norm_relu6(WorkBuilder& b, const LayerTensor& x,
                            const std::string& path, const ConvSize& size) {
  const LayerTensor y = b.batch_norm(b.conv(x, path + ".0", size), path + ".1");
  return b.relu6(y, path + ".2");
}

LayerTensor inverted_residual(WorkBuilder& b, const LayerTensor& in,
                              const std::string& path,
                              const MobileNetStage& stage,
                              std::int64_t stride) {
  const std::int64_t hidden = in.shape[0] * stage.expand;
  LayerTensor x = in;
  int part = 0;
  const auto next = [&] { return path + ".conv." + std::to_string(part++); };
  if (stage.expand != 1) x = conv_norm_relu6(b, x, next(), {.out = hidden});
  x = conv_norm_relu6(b, x, next(),
                      {.out = hidden,
                       .kernel = 3,
                       .stride = stride,
                       .padding = 1,
                       .groups = hidden});
  x = b.conv(x, next(), {.out = stage.channels});
  x = b.batch_norm(x, next());
  const bool residual = stride == 1 && in.shape[0] == stage.channels;
  return residual ? b.add(in, x, path + ".add") : x;
}

}  // namespace

WorkPlan plan_mobilenet_v2(const ModelConfig& config) {
  WorkBuilder b(config.kind, {3, config.image_px, config.image_px});
  int feature = 0;
  const auto next = [&] { return "features." + std::to_string(feature++); };
  LayerTensor x = conv_norm_relu6(
      b, b.input(), next(),
      {.out = kMobileNetV2Stem, .kernel = 3, .stride = 2, .padding = 1});
  for (const MobileNetStage& stage : kMobileNetV2Stages)
    for (std::int64_t i = 0; i < stage.repeat; ++i)
      x = inverted_residual(b, x, next(), stage, i == 0 ? stage.stride : 1);
  x = conv_norm_relu6(b, x, next(), {.out = kMobileNetV2Last});
  x = b.dropout(b.average_pool(x, "avgpool"), "classifier.0");
  b.linear(x, "classifier.1", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
