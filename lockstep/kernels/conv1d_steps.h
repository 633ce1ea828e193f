// SPDX-License-Identifier: Apache-2.0
// A 1-D convolution's forward and backward pass over all threads, by two
// methods: direct sums, and products of spectra for long kernels. Results do
// not depend on the number of threads: every output is summed by one task in
// one order. Private to kernels/; conv1d.h is for users.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lockstep/kernels/isa.h"

namespace lockstep {

enum class ConvMethod { direct, spectral };

struct ConvShape {
  std::int64_t batch = 0, in = 0, length = 0, out = 0, taps = 0, padding = 0;
  std::int64_t pool = 0;  // windows of relu and max pooling behind; 0: none
  std::int64_t positions() const { return length + 2 * padding - taps + 1; }
  std::int64_t windows() const { return positions() / pool; }
};

// Transforms pay from this many taps on; the longest is 512.
ConvMethod best_method(const ConvShape& shape);

struct ConvForward {
  at::Tensor output{};  // [batch, out, positions or windows]
  // For backward: the input as the method wants it, and the place in each
  // window the maximum came from (uint8), or kNowhere.
  at::Tensor input{}, where{};
};

// Gradients; input's only when asked for.
struct ConvBackward {
  at::Tensor input{}, weight{}, bias{};
};

// All tensors contiguous, fp32, on the CPU.
ConvForward direct_forward(const ConvShape& shape, const at::Tensor& input,
                           const at::Tensor& weight, const at::Tensor& bias,
                           Isa isa = best_isa());
ConvBackward direct_backward(const ConvShape& shape, const ConvForward& kept,
                             const at::Tensor& weight, const at::Tensor& grad,
                             bool input_too, Isa isa = best_isa());
ConvForward spectral_forward(const ConvShape& shape, const at::Tensor& input,
                             const at::Tensor& weight, const at::Tensor& bias,
                             Isa isa = best_isa());
ConvBackward spectral_backward(const ConvShape& shape, const ConvForward& kept,
                               const at::Tensor& weight, const at::Tensor& grad,
                               bool input_too, Isa isa = best_isa());

}  // namespace lockstep
