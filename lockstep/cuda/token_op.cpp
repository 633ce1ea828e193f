// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/token_op.h"

#include <ATen/ATen.h>

#include "lockstep/cuda/columns.h"
#include "lockstep/cuda/embedding.h"
#include "lockstep/cuda/gelu.h"
#include "lockstep/cuda/layer_norm.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

float* floats_of(const at::Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}

bool is_parameter(const at::Tensor& t, std::int64_t numel) {
  return t.scalar_type() == at::kFloat && t.is_contiguous() &&
         t.numel() == numel && is_aligned(t);
}

// bf16 [..., columns]
ColumnSizes columns_of(const at::Tensor& x) {
  return {x.numel() / x.size(-1), static_cast<int>(x.size(-1))};
}

bool fits_columns(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && x.is_contiguous() &&
         x.numel() > 0 && x.size(-1) % 8 == 0 && x.size(-1) < 1 << 24 &&
         is_aligned(x);
}

at::Tensor room_of(const at::Tensor& x) {
  const ColumnSizes s = columns_of(x);
  return at::empty({column_parts(s), s.columns}, float_room(x));
}

LayerNormSizes layer_norm_sizes(const at::Tensor& x) {
  return {x.numel() / x.size(-1), static_cast<int>(x.size(-1))};
}

float2* statistics_of(const at::Tensor& t) {
  return reinterpret_cast<float2*>(t.data_ptr<float>());
}

}  // namespace

bool has_half_column_sums_on_gpu(const at::Tensor& x) {
  return x.dim() == 2 && fits_columns(x);
}

void half_column_sums_on_gpu(const at::Tensor& x, const at::Tensor& to) {
  const at::Tensor room = room_of(x);
  launch_half_column_sums(columns_of(x), bf16_of(x), room.data_ptr<float>(),
                          to.data_ptr<float>(), stream_of(x));
}

bool has_layer_norm_on_gpu(const AddNormInput& in) {
  const std::int64_t width = in.x.size(-1);
  const bool branch =
      !in.branch.defined() ||
      (in.branch.scalar_type() == at::kBFloat16 && in.branch.is_contiguous() &&
       is_aligned(in.branch) && in.branch.sizes() == in.x.sizes());
  return in.x.numel() > 0 && in.x.scalar_type() == at::kFloat &&
         in.x.is_contiguous() && is_aligned(in.x) &&
         has_layer_norm_kernel(layer_norm_sizes(in.x)) && branch &&
         is_parameter(in.weight, width) && is_parameter(in.bias, width) &&
         (!in.branch_bias.defined() || is_parameter(in.branch_bias, width));
}

AddNormForward layer_norm_forward_on_gpu(const AddNormInput& in) {
  const LayerNormSizes s = layer_norm_sizes(in.x);
  AddNormForward out{
      .output = at::empty_like(in.x, in.x.options().dtype(at::kBFloat16)),
      .statistics = at::empty({s.rows, 2}, float_room(in.x))};
  if (in.branch.defined()) out.sum = at::empty_like(in.x);
  launch_layer_norm(s,
                    {.x = floats_of(in.x),
                     .branch = bf16_of(in.branch),
                     .branch_bias = floats_of(in.branch_bias),
                     .weight = floats_of(in.weight),
                     .bias = floats_of(in.bias),
                     .eps = static_cast<float>(in.eps),
                     .sum = floats_of(out.sum),
                     .output = bf16_of(out.output),
                     .statistics = statistics_of(out.statistics)},
                    stream_of(in.x));
  return out;
}

AddNormBackward layer_norm_backward_on_gpu(const AddNormKept& kept,
                                           const at::Tensor& arrived,
                                           const at::Tensor& arrived_at_sum,
                                           const AddNormGrads& to) {
  const at::Tensor grad = aligned(arrived), sum_grad = aligned(arrived_at_sum);
  const LayerNormSizes s = layer_norm_sizes(kept.sum);
  AddNormBackward out{.x = at::empty_like(kept.sum)};
  if (kept.branch) out.branch = at::empty_like(grad);
  const at::Tensor room =
      at::empty({layer_norm_room_floats(s)}, float_room(kept.sum));
  launch_layer_norm_backward(s,
                             {.grad = bf16_of(grad),
                              .sum_grad = floats_of(sum_grad),
                              .sum = floats_of(kept.sum),
                              .statistics = statistics_of(kept.statistics),
                              .weight = floats_of(kept.weight),
                              .x_grad = floats_of(out.x),
                              .branch_grad = bf16_of(out.branch),
                              .weight_grad = floats_of(to.weight),
                              .bias_grad = floats_of(to.bias),
                              .branch_bias_grad = floats_of(to.branch_bias),
                              .room = floats_of(room)},
                             stream_of(grad));
  return out;
}

bool has_gelu_on_gpu(const at::Tensor& x, const at::Tensor& bias) {
  return fits_columns(x) &&
         (!bias.defined() ||
          (bias.scalar_type() == at::kFloat && bias.is_contiguous() &&
           bias.numel() == x.size(-1)));
}

at::Tensor gelu_forward_on_gpu(const at::Tensor& x, const at::Tensor& bias,
                               bool tanh) {
  const at::Tensor out = at::empty_like(x);
  launch_gelu(columns_of(x), tanh ? GeluKind::tanh : GeluKind::erf, bf16_of(x),
              floats_of(bias), bf16_of(out), stream_of(x));
  return out;
}

at::Tensor gelu_backward_on_gpu(const at::Tensor& arrived, const at::Tensor& x,
                                const at::Tensor& bias, bool tanh,
                                const at::Tensor& bias_grad) {
  const at::Tensor grad = aligned(arrived);
  const at::Tensor out = at::empty_like(x), room = room_of(x);
  launch_gelu_backward(columns_of(x), tanh ? GeluKind::tanh : GeluKind::erf,
                       bf16_of(grad), bf16_of(x), floats_of(bias), bf16_of(out),
                       floats_of(room), floats_of(bias_grad), stream_of(x));
  return out;
}

void add_embedding_grad_on_gpu(const at::Tensor& tokens, const at::Tensor& grad,
                               const at::Tensor& to) {
  const auto [sorted, order] =
      at::sort(tokens.flatten().to(at::kInt), /*stable=*/true, /*dim=*/0,
               /*descending=*/false);
  launch_embedding_grad({.tokens = sorted.const_data_ptr<int>(),
                         .order = order.const_data_ptr<std::int64_t>(),
                         .grad = grad.const_data_ptr<float>(),
                         .to = to.data_ptr<float>(),
                         .rows = tokens.numel(),
                         .width = static_cast<int>(to.size(1))},
                        stream_of(grad));
}

}  // namespace lockstep
