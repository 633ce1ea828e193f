// SPDX-License-Identifier: Apache-2.0
// `quick`, for 32 px images: small enough for seconds on one GPU, after the
// published speed runs on CIFAR-10 (Page's DAWNBench net, Jordan's airbench).
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

LayerTensor norm_gelu(WorkBuilder& b, const LayerTensor& x,
                      const std::string& path, const std::string& number) {
  const LayerTensor normed =
      b.batch_norm(x, path + ".norm" + number, /*affine=*/false);
  return b.gelu(b.shift(normed, path + ".shift" + number),
                path + ".gelu" + number);
}

LayerTensor group(WorkBuilder& b, const LayerTensor& in,
                  const std::string& path, std::int64_t width) {
  const ConvSize size{.out = width, .kernel = 3, .padding = 1};
  LayerTensor x = b.conv(in, path + ".conv1", size);
  x = b.max_pool(x, path + ".pool", {.kernel = 2, .stride = 2});
  x = norm_gelu(b, x, path, "1");
  return norm_gelu(b, b.conv(x, path + ".conv2", size), path, "2");
}

}  // namespace

WorkPlan plan_quick(const ModelConfig& config) {
  WorkBuilder b(config.kind, {3, config.image_px, config.image_px});
  LayerTensor x = b.conv(b.input(), "stem",
                         {.out = kQuickStem,
                          .kernel = kQuickStemKernel,
                          .bias = true,
                          .frozen = config.whiten});
  x = b.gelu(x, "gelu");
  for (std::size_t i = 0; i < kQuickWidths.size(); ++i)
    x = group(b, x, "group" + std::to_string(i + 1), kQuickWidths[i]);
  x = b.max_pool(x, "pool", {.kernel = 3, .stride = 3});
  x = WorkBuilder::view(x, {numel(x.shape)});
  x = b.linear(x, "fc", {.out = config.classes, .bias = false});
  b.move(x, "scale", "Mul", x.shape);
  return b.finish();
}

}  // namespace lockstep
