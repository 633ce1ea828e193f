// SPDX-License-Identifier: Apache-2.0
// Layers of images, through kernels of ours where there are some for it: a
// convolution, and BatchNorm2d with what follows it.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <utility>

#include "lockstep/kernels/batch_norm.h"
#include "lockstep/kernels/conv2d.h"
#include "lockstep/kernels/depthwise.h"

namespace lockstep {

// Without bias and with kernel / 2 as padding, as all of ours are.
inline at::Tensor convolve(torch::nn::Conv2d& layer, const at::Tensor& x) {
  const auto& o = layer->options;
  const std::int64_t stride = o.stride()->front();
  const std::int64_t kernel = o.kernel_size()->front();
  if (o.groups() == o.in_channels() && o.groups() > 1 && kernel == 3)
    return depthwise_conv3x3(x, layer->weight, stride);
  if (o.groups() == 1 && takes_direct_conv2d(x, layer->weight))
    return conv2d_direct(x, layer->weight, stride, kernel / 2);
  return layer(x);
}

inline NormLayer layer_of(const torch::nn::BatchNorm2dImpl& norm) {
  return {.weight = norm.weight,
          .bias = norm.bias,
          .running_mean = norm.running_mean,
          .running_var = norm.running_var,
          .batches = norm.num_batches_tracked,
          .momentum = norm.options.momentum().value_or(0),
          .eps = norm.options.eps(),
          .training = norm.is_training()};
}

// activation(norm(x) + residual()); a residual may be undefined. Without a
// kernel it is computed after norm(x), where a plan of the model expects it.
template <class Norm, class Residual>
at::Tensor norm_activation(Norm& norm, const at::Tensor& x,
                           Activation activation, const Residual& residual) {
  const NormLayer layer = layer_of(*norm);
  at::Tensor added, y;
  if (x.is_cuda() && !norm->is_taken_over()) {
    added = residual();
    if (has_norm_kernel(layer, x, added))
      return norm_activation(layer, x, activation, added);
    y = norm->forward(x);
  } else {
    y = norm->forward(x);
    added = residual();
  }
  if (added.defined()) y.add_(added);
  return activate(y, activation);
}

template <class Norm>
at::Tensor norm_activation(Norm& norm, const at::Tensor& x,
                           Activation activation) {
  return norm_activation(norm, x, activation, [] { return at::Tensor(); });
}

// gelu(norm(x) + scale * bias), where the norm has no parameters of its own.
template <class Norm>
at::Tensor norm_shift_gelu(Norm& norm, const at::Tensor& x,
                           const at::Tensor& bias, double scale) {
  NormLayer layer = layer_of(*norm);
  layer.bias = bias, layer.bias_scale = scale;
  if (x.is_cuda() && !norm->is_taken_over() && has_norm_kernel(layer, x, {}))
    return norm_activation(std::as_const(layer), x, Activation::gelu,
                           at::Tensor());
  at::Tensor y = norm->forward(x);
  y.add_(bias.view({1, -1, 1, 1}), scale);
  return activate(y, Activation::gelu);
}

}  // namespace lockstep
