// SPDX-License-Identifier: Apache-2.0
// A fully connected layer whose weight gradient goes straight into the flat
// gradient buffer (direct_grad.h). For small batches the passes are kernels of
// ours that read or write the weight once, at the memory's speed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lockstep/kernels/isa.h"

namespace lockstep {

// at::linear(input, weight, bias), differentiable. With a weight that allows a
// direct gradient (fp32, outside of autocast; input [batch, in]) backward
// writes weight.grad itself and hands autograd none for it: gradient hooks must
// sit on the accumulator node, as its post hooks, which run all the same.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias);

// Up to this many samples our kernels run; beyond, LibTorch's matrix product
// is as fast.
inline constexpr std::int64_t kSmallBatch = 32;

// [batch, in] x [out, in] (+ [out], or undefined) -> [batch, out]
at::Tensor small_batch_forward(const at::Tensor& input,
                               const at::Tensor& weight, const at::Tensor& bias,
                               Isa isa = best_isa());
// to[o][i] (+)= sum over b of grad[b][o] * input[b][i]; contiguous, fp32.
void small_batch_weight_gradient(const at::Tensor& grad,
                                 const at::Tensor& input, at::Tensor& to,
                                 bool overwrite, Isa isa = best_isa());

}  // namespace lockstep
