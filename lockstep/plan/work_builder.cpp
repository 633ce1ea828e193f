// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/work_builder.h"

#include <utility>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

std::int64_t reach(std::int64_t size, const ConvSize& c) {
  const std::int64_t span = size + 2 * c.padding - c.kernel;
  if (span < 0)
    throw Error(Fault::config, "model.image_px",
                "the image is too small for the model's kernels");
  return span / c.stride + 1;
}

// [channels, …] -> [out, …] after a kernel has slid over all but the first.
Shape slid(const Shape& in, std::int64_t out, const ConvSize& c) {
  Shape shape = {out};
  for (std::size_t i = 1; i < in.size(); ++i) shape.push_back(reach(in[i], c));
  return shape;
}

Shape with_last(Shape shape, std::int64_t last) {
  shape.back() = last;
  return shape;
}

}  // namespace

WorkBuilder::WorkBuilder(ModelKind kind, Shape input, bool tokens) {
  plan_.model = model_name(kind);
  plan_.input = std::move(input);
  plan_.tokens = tokens;
}

LayerWork& WorkBuilder::row(const LayerTensor& x, const std::string& name,
                            const char* type, Shape output) {
  LayerWork& layer = plan_.layers.emplace_back();
  kept_.push_back(false);
  layer.name = name;
  layer.type = type;
  layer.output = std::move(output);
  layer.input_numel = numel(x.shape);
  layer.output_numel = numel(layer.output);
  return layer;
}

LayerTensor WorkBuilder::result(bool needs_grad) const {
  return {plan_.layers.back().output, plan_.layers.size() - 1, needs_grad};
}

void WorkBuilder::keep(const LayerTensor& x) {
  if (x.owner == LayerTensor::kInput)
    return;  // counted as input, not as activation
  if (kept_[x.owner]) return;
  kept_[x.owner] = true;
  plan_.layers[x.owner].kept_numel += plan_.layers[x.owner].output_numel;
}

void WorkBuilder::multiply_adds(const LayerTensor& x, double count) {
  LayerWork& layer = plan_.layers.back();
  layer.forward_flops = 2 * count;
  layer.backward_flops = 2 * count * (x.needs_grad ? 2 : 1);
}

std::size_t WorkBuilder::declare(const std::string& name, Shape shape) {
  const std::int64_t count = numel(shape);
  const bool one_dimension = shape.size() <= 1;
  plan_.params.push_back({name, std::move(shape), count, 0, one_dimension});
  return plan_.params.size() - 1;
}

void WorkBuilder::attach(std::size_t declared) {
  ParamInfo& param = plan_.params[declared];
  param.layer = plan_.layers.size() - 1;
  plan_.layers.back().params += param.numel;
}

void WorkBuilder::param(const std::string& name, Shape shape) {
  attach(declare(name, std::move(shape)));
}

LayerTensor WorkBuilder::conv(const LayerTensor& x, const std::string& name,
                              const ConvSize& size) {
  const bool two = x.shape.size() == 3;
  const std::int64_t in = x.shape[0] / size.groups;
  LayerWork& layer =
      row(x, name, two ? "Conv2d" : "Conv1d", slid(x.shape, size.out, size));
  const double outputs = static_cast<double>(layer.output_numel);
  Shape weight = {size.out, in, size.kernel};
  if (two) weight.push_back(size.kernel);
  const std::int64_t each = numel(weight) / size.out;
  multiply_adds(x, outputs * static_cast<double>(each));
  if (size.frozen) {
    layer.buffer_numel = numel(weight);
    layer.backward_flops -= layer.forward_flops;
  } else {
    param(name + ".weight", weight);
  }
  if (size.bias) param(name + ".bias", {size.out});
  keep(x);
  return result(true);
}

LayerTensor WorkBuilder::max_pool(const LayerTensor& x, const std::string& name,
                                  const ConvSize& size) {
  const bool two = x.shape.size() == 3;
  LayerWork& layer = row(x, name, two ? "MaxPool2d" : "MaxPool1d",
                         slid(x.shape, x.shape[0], size));
  layer.kept_indices = layer.output_numel;
  keep(x);
  return result(x.needs_grad);
}

LayerTensor WorkBuilder::batch_norm(const LayerTensor& x,
                                    const std::string& name, bool affine) {
  const std::int64_t channels = x.shape[0];
  LayerWork& layer = row(x, name, "BatchNorm2d", x.shape);
  layer.buffer_numel = 2 * channels;
  if (affine) {
    param(name + ".weight", {channels});
    param(name + ".bias", {channels});
  }
  keep(x);
  return result(affine || x.needs_grad);
}

LayerTensor WorkBuilder::shift(const LayerTensor& x, const std::string& name) {
  row(x, name, "Add", x.shape).input_numel += x.shape[0];
  param(name + ".bias", {x.shape[0]});
  return {x.shape, x.owner, true};
}

LayerTensor WorkBuilder::average_pool(const LayerTensor& x,
                                      const std::string& name) {
  row(x, name, "AdaptiveAvgPool2d", {x.shape[0], 1, 1});
  return view(result(x.needs_grad), {x.shape[0]});
}

LayerTensor WorkBuilder::linear(const LayerTensor& x, const std::string& name,
                                const LinearSize& size) {
  const std::int64_t in = x.shape.back();
  row(x, name, size.type, with_last(x.shape, size.out)).shares = size.shared;
  multiply_adds(
      x, static_cast<double>(numel(x.shape)) * static_cast<double>(size.out));
  const auto or_else = [&](const std::string& text, const char* end) {
    return text.empty() ? name + end : text;
  };
  if (size.shared.empty())
    param(or_else(size.weight, ".weight"),
          size.in_first ? Shape{in, size.out} : Shape{size.out, in});
  if (size.bias) param(or_else(size.bias_name, ".bias"), {size.out});
  keep(x);
  return result(true);
}

LayerTensor WorkBuilder::layer_norm(const LayerTensor& x,
                                    const std::string& name) {
  const std::int64_t width = x.shape.back();
  LayerWork& layer = row(x, name, "LayerNorm", x.shape);
  param(name + ".weight", {width});
  param(name + ".bias", {width});
  keep(x);
  // Its mean and spread, two numbers a token.
  layer.kept_numel += 2 * (layer.output_numel / width);
  return result(true);
}

LayerTensor WorkBuilder::embedding(const LayerTensor& tokens,
                                   const std::string& name, std::int64_t count,
                                   std::int64_t width) {
  Shape output = tokens.shape;
  output.push_back(width);
  row(tokens, name, "Embedding", output);
  param(name + ".weight", {count, width});
  return result(true);
}

LayerTensor WorkBuilder::attention(const LayerTensor& qkv,
                                   const std::string& name,
                                   std::int64_t heads) {
  const std::int64_t tokens = qkv.shape[0], width = qkv.shape[1] / 3;
  LayerWork& layer = row(qkv, name, "Attention", {tokens, width});
  const double scores = static_cast<double>(tokens * tokens * width);
  layer.forward_flops = 4 * scores;  // scores, then their mean of the values
  // The fused kernels keep no scores: backward computes them once more and
  // then four products.
  layer.backward_flops = 10 * scores;
  keep(qkv);
  keep(result(true));
  layer.kept_numel += heads * tokens;  // log of the sum of exponentials
  return result(true);
}

LayerTensor WorkBuilder::relu(const LayerTensor& x, const std::string& name) {
  row(x, name, "ReLU", x.shape);
  keep(x);
  return x;
}

LayerTensor WorkBuilder::relu6(const LayerTensor& x, const std::string& name) {
  row(x, name, "ReLU6", x.shape);
  keep(x);
  return result(x.needs_grad);
}

LayerTensor WorkBuilder::sigmoid(const LayerTensor& x,
                                 const std::string& name) {
  row(x, name, "Sigmoid", x.shape);
  keep(x);
  return x;
}

LayerTensor WorkBuilder::gelu(const LayerTensor& x, const std::string& name) {
  row(x, name, "GELU", x.shape);
  keep(x);
  return result(x.needs_grad);
}

LayerTensor WorkBuilder::dropout(const LayerTensor& x,
                                 const std::string& name) {
  LayerWork& layer = row(x, name, "Dropout", x.shape);
  layer.kept_numel = layer.output_numel;  // which elements were dropped
  return result(x.needs_grad);
}

LayerTensor WorkBuilder::add(const LayerTensor& x, const LayerTensor& y,
                             const std::string& name) {
  row(x, name, "Add", x.shape).input_numel += numel(y.shape);
  return result(x.needs_grad || y.needs_grad);
}

LayerTensor WorkBuilder::add_in_place(const LayerTensor& x,
                                      const LayerTensor& y,
                                      const std::string& name) {
  add(x, y, name);
  return x;
}

LayerTensor WorkBuilder::move(const LayerTensor& x, const std::string& name,
                              const char* type, Shape output) {
  row(x, name, type, std::move(output));
  return result(x.needs_grad);
}

LayerTensor WorkBuilder::view(LayerTensor x, Shape shape) {
  x.shape = std::move(shape);
  return x;
}

WorkPlan WorkBuilder::finish() { return std::move(plan_); }

}  // namespace lockstep
