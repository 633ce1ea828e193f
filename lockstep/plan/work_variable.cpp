// SPDX-License-Identifier: Apache-2.0
// A model of any size and any cost: parameters and FLOPs a sample are set
// apart from each other, so that their ratio can be swept.
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

LayerTensor variable_block(WorkBuilder& b, const LayerTensor& x, std::int64_t i,
                           const VariableSize& size) {
  const std::string name = "blocks." + std::to_string(i);
  const LayerTensor y = b.linear(x, name, {.out = size.width, .bias = false});
  const std::int64_t ballast = size.ballast_of(i);
  if (ballast > 0) b.param(name + ".ballast", {ballast});
  return b.relu(y, name + ".relu");
}

// Whole applications of the last matrix, then some of its rows.
LayerTensor extra(WorkBuilder& b, LayerTensor x, const VariableSize& size) {
  for (std::int64_t rows = size.extra_rows; rows > 0; rows -= size.width) {
    const std::int64_t out = std::min(rows, size.width);
    const std::string last = "blocks." + std::to_string(size.layers - 1);
    const LayerTensor y =
        b.linear(x, "extra", {.out = out, .bias = false, .shared = last});
    if (out < size.width)
      x = b.move(x, "extra.cat", "Concat", {size.width});
    else
      x = b.relu(y, "extra.relu");
  }
  return x;
}

}  // namespace

WorkPlan plan_variable(const ModelConfig& config) {
  const VariableSize size = variable_size(config);
  WorkBuilder b(config.kind, {1, kClipSamples});
  LayerTensor x = b.move(b.input(), "pool", "AdaptiveMaxPool1d",
                         {1, size.positions * size.width});
  x = WorkBuilder::view(x, {size.positions, size.width});
  for (std::int64_t i = 0; i < size.layers; ++i)
    x = variable_block(b, x, i, size);
  x = b.move(x, "mean", "Mean", {size.width});
  x = extra(b, x, size);
  b.linear(x, "head", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
