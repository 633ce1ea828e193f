// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/work_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "lockstep/config/field.h"
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

bool is_vit(ModelKind kind) {
  return kind == ModelKind::vit_tiny || kind == ModelKind::vit_b_16;
}

bool takes_images(ModelKind kind) {
  return is_vit(kind) || kind == ModelKind::mobilenet_v2 ||
         kind == ModelKind::resnet18 || kind == ModelKind::resnet18_224 ||
         kind == ModelKind::resnet34 || kind == ModelKind::resnet50 ||
         kind == ModelKind::quick;
}

[[noreturn]] void misfit(const char* setting, const std::string& what,
                         const std::string& hint) {
  throw Error(Fault::config, std::string("model.") + setting, what, hint);
}

void check_image(const ModelConfig& c) {
  const std::string name = model_name(c.kind);
  if (c.image_px > 0 && !takes_images(c.kind))
    misfit("image_px", name + " takes no images", "leave it at 0");
  if (c.patch_px > 0 && !is_vit(c.kind))
    misfit("patch_px", name + " has no patches", "leave it at 0");
  if (!is_vit(c.kind)) return;
  const ModelConfig own = with_own_sizes(c);
  if (own.image_px % own.patch_px == 0) return;
  const std::int64_t below = own.image_px / own.patch_px * own.patch_px;
  misfit("image_px",
         fmt::format("{} is not a multiple of model.patch_px, {}", own.image_px,
                     own.patch_px),
         below > 0 ? fmt::format("use {} or {}", below, below + own.patch_px)
                   : fmt::format("use {}", own.patch_px));
}

void check_sizes(const ModelConfig& c) {
  check_image(c);
  if (c.whiten && c.kind != ModelKind::quick)
    misfit("whiten", model_name(c.kind) + " has no layer to whiten with",
           "leave it false, or choose model.kind=quick");
  if (c.zero_gamma &&
      (is_vit(c.kind) || c.kind == ModelKind::quick || !takes_images(c.kind)))
    misfit("zero_gamma",
           model_name(c.kind) + " has no residual blocks with BatchNorm",
           "leave it false");
  if (c.kind == ModelKind::gpt && c.width % c.heads != 0)
    misfit("width",
           fmt::format("{} is not a multiple of model.heads, {}", c.width,
                       c.heads),
           fmt::format("use {}", (c.width / c.heads + 1) * c.heads));
  if (c.kind != ModelKind::gpt && c.classes == 0)
    misfit("classes", "is not known",
           "set it, or let the data say how many there are");
}

std::int64_t sum(const std::vector<LayerWork>& layers,
                 std::int64_t LayerWork::*field) {
  std::int64_t total = 0;
  for (const LayerWork& layer : layers) total += layer.*field;
  return total;
}

std::int64_t element_bytes(Precision precision) {
  return precision == Precision::bf16 ? 2 : 4;
}

}  // namespace

std::int64_t numel(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::string model_name(ModelKind kind) {
  ModelConfig config{.kind = kind};
  std::vector<Field> fields;
  FieldLister lister("model", fields);
  describe(lister, config);
  return std::get<std::string>(fields.at(0).get());
}

ModelConfig with_own_sizes(ModelConfig c) {
  const bool small = c.kind == ModelKind::resnet18 ||
                     c.kind == ModelKind::quick || !takes_images(c.kind);
  if (c.classes == 0 && c.kind != ModelKind::gpt) c.classes = small ? 10 : 1000;
  if (c.image_px == 0 && takes_images(c.kind)) c.image_px = small ? 32 : 224;
  if (c.patch_px == 0 && is_vit(c.kind)) c.patch_px = 16;
  return c;
}

Shape input_shape(const ModelConfig& config) {
  check_image(config);
  if (config.kind == ModelKind::gpt) return {config.context};
  if (!takes_images(config.kind)) return {1, kClipSamples};
  const std::int64_t side = with_own_sizes(config).image_px;
  return {3, side, side};
}

WorkPlan plan_work(const ModelConfig& config) {
  check_sizes(config);
  const ModelConfig c = with_own_sizes(config);
  switch (c.kind) {
    case ModelKind::linear:
      return plan_linear(c);
    case ModelKind::conv1d:
      return plan_conv1d(c);
    case ModelKind::variable:
      return plan_variable(c);
    case ModelKind::resnet18:
    case ModelKind::resnet18_224:
    case ModelKind::resnet34:
    case ModelKind::resnet50:
      return plan_resnet(c);
    case ModelKind::mobilenet_v2:
      return plan_mobilenet_v2(c);
    case ModelKind::vit_tiny:
    case ModelKind::vit_b_16:
      return plan_vit(c);
    case ModelKind::gpt:
      return plan_gpt(c);
    case ModelKind::quick:
      return plan_quick(c);
  }
  throw Error(Fault::internal, "model.kind", "has no plan");
}

std::int64_t WorkPlan::param_count() const {
  return sum(layers, &LayerWork::params);
}

std::int64_t WorkPlan::param_bytes() const { return 4 * param_count(); }

std::int64_t WorkPlan::buffer_bytes() const {
  return 4 * sum(layers, &LayerWork::buffer_numel);
}

double WorkPlan::forward_flops() const {
  double total = 0;
  for (const LayerWork& layer : layers) total += layer.forward_flops;
  return total;
}

double WorkPlan::backward_flops() const {
  double total = 0;
  for (const LayerWork& layer : layers) total += layer.backward_flops;
  return total;
}

std::int64_t WorkPlan::activation_bytes(Precision precision) const {
  // Logits and their log-softmax, which cross-entropy computes in fp32.
  const std::int64_t loss = 2 * 4 * layers.back().output_numel;
  return element_bytes(precision) * sum(layers, &LayerWork::kept_numel) +
         8 * sum(layers, &LayerWork::kept_indices) + loss;
}

double WorkPlan::param_bytes_per_flop() const {
  return static_cast<double>(param_bytes()) /
         (forward_flops() + backward_flops());
}

std::int64_t MemoryNeed::total_bytes() const {
  return param_bytes + cast_bytes + grad_bytes + optim_bytes +
         activation_bytes + input_bytes;
}

MemoryNeed memory_need(const WorkPlan& plan, const OptimConfig& optim,
                       Precision precision, std::int64_t batch) {
  const std::int64_t params = plan.param_bytes();
  MemoryNeed need;
  need.param_bytes = params + plan.buffer_bytes();
  need.cast_bytes = precision == Precision::bf16 ? params / 2 : 0;
  need.grad_bytes = params;
  need.optim_bytes = keeps_square(optim.kind) ? 2 * params
                     : optim.momentum > 0     ? params
                                              : 0;
  need.activation_bytes = batch * plan.activation_bytes(precision);
  need.input_bytes = batch * numel(plan.input) * (plan.tokens ? 8 : 4);
  return need;
}

}  // namespace lockstep
