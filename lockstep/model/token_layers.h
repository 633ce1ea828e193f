// SPDX-License-Identifier: Apache-2.0
// Layers of transformers, through kernels of ours where there are some for it,
// and LibTorch's operations, one after the other, elsewhere.
#pragma once

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <torch/nn/modules/normalization.h>

#include <array>
#include <utility>

#include "lockstep/kernels/add_norm.h"
#include "lockstep/kernels/gelu.h"
#include "lockstep/kernels/half.h"
#include "lockstep/kernels/half_linear.h"
#include "lockstep/kernels/vocab_head.h"

namespace lockstep {

// [..., in] -> [..., out]
inline at::Tensor connect(const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& bias,
                          WeightOrder order = WeightOrder::out_in) {
  if (takes_half(x, weight)) return half_linear(x, weight, bias, order);
  return at::linear(x, order == WeightOrder::in_out ? weight.t() : weight,
                    bias);
}

// The same, with the bias left to the kernel that reads it next, if one does.
struct Product {
  at::Tensor value{};
  at::Tensor bias{};  // still to be added; undefined: it was
};

inline Product product_of(const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& bias,
                          WeightOrder order = WeightOrder::out_in) {
  if (takes_half(x, weight)) return {half_linear(x, weight, {}, order), bias};
  return {connect(x, weight, bias, order)};
}

inline at::Tensor with_bias(const Product& p) {
  return p.bias.defined() ? p.value + p.bias.to(p.value.scalar_type())
                          : p.value;
}

enum class Gelu { erf, tanh };

inline at::Tensor gelu(const Product& p, Gelu form) {
  if (p.bias.defined() && has_bias_gelu_kernel(p.value, p.bias))
    return bias_gelu(p.value, p.bias, form == Gelu::tanh);
  return at::gelu(with_bias(p), form == Gelu::tanh ? "tanh" : "none");
}

// A transformer's residual stream, and the branch that is added to it next.
struct Stream {
  at::Tensor x;
  Product branch{};
};

// Adds the branch to the stream and returns the sum normalised.
inline at::Tensor add_norm(Stream& stream, torch::nn::LayerNorm& norm) {
  const Product branch = std::exchange(stream.branch, {});
  const AddNormInput in{.x = stream.x,
                        .branch = branch.value,
                        .branch_bias = branch.bias,
                        .weight = norm->weight,
                        .bias = norm->bias,
                        .eps = norm->options.eps()};
  if (has_add_norm_kernel(in)) {
    const AddNormOutput out = add_norm(in);
    stream.x = out.sum;
    return out.output;
  }
  if (branch.value.defined()) stream.x = stream.x + with_bias(branch);
  return norm(stream.x);
}

// [..., width] -> [..., vocab]
inline at::Tensor to_vocabulary(const at::Tensor& x, const at::Tensor& weight) {
  return takes_half(x, weight) ? vocab_head(x, weight) : at::linear(x, weight);
}

// Queries, keys and values, [batch, heads, tokens, width / heads] each, of
// [batch, tokens, 3 * width]. Their gradients are put together in one go.
inline std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv,
                                             std::int64_t heads) {
  const auto parts =
      qkv.unflatten(-1, {3, heads, qkv.size(-1) / 3 / heads}).unbind(2);
  return {parts[0].transpose(1, 2), parts[1].transpose(1, 2),
          parts[2].transpose(1, 2)};
}

}  // namespace lockstep
