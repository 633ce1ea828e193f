// SPDX-License-Identifier: Apache-2.0
// What liblockstep_cuda.so adds to these kernels when it is opened. Until then
// there is nothing, and GPU tensors go to LibTorch.
#pragma once

#include <c10/core/Stream.h>

#include "lockstep/kernels/add_norm.h"
#include "lockstep/kernels/batch_norm.h"
#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/image_batch.h"
#include "lockstep/kernels/loss.h"
#include "lockstep/kernels/max_pool.h"

namespace lockstep {

struct NormForward {
  at::Tensor output{};
  at::Tensor statistics{};  // for backward, and room for its own
  double bias_scale = 1;    // the layer's
};
struct NormBackward {
  at::Tensor input{}, residual{};
};

struct MaxPoolForward {
  at::Tensor output{}, where{};
};

struct AddNormForward {
  at::Tensor sum{};  // undefined without a branch
  at::Tensor output{}, statistics{};
};
struct AddNormKept {
  at::Tensor sum{}, statistics{}, weight{};
  bool branch = false;
};
struct AddNormBackward {
  at::Tensor x{}, branch{};
};
struct AddNormGrads {
  at::Tensor weight{}, bias{}, branch_bias{};
};

// Gradients of parameters are written where the caller says: fp32, contiguous.
struct GpuTable {
  // conv1d_relu_max_pool1d() in bf16 on tensor cores. Input and gradient in
  // any memory order; output and data gradient channels last.
  bool (*has_conv1d)(const ConvShape& shape) = nullptr;
  ConvForward (*conv1d_forward)(const ConvShape& shape, const at::Tensor& input,
                                const at::Tensor& weight,
                                const at::Tensor& bias) = nullptr;
  ConvBackward (*conv1d_backward)(const ConvShape& shape,
                                  const ConvForward& kept,
                                  const at::Tensor& weight,
                                  const at::Tensor& grad, bool input_too,
                                  const at::Tensor& weight_grad,
                                  const at::Tensor& bias_grad) = nullptr;

  // norm_activation() of a layer that trains, bf16 with channels last. Backward
  // is given the output only where a residual went through an activation, and
  // nothing for the gradient of a weight that the layer does not have.
  bool (*has_norm)(const at::Tensor& x) = nullptr;
  NormForward (*norm_forward)(const NormLayer& layer, const at::Tensor& x,
                              Activation activation,
                              const at::Tensor& residual) = nullptr;
  NormBackward (*norm_backward)(const NormForward& kept, const at::Tensor& x,
                                const at::Tensor& grad, Activation activation,
                                bool residual, const at::Tensor& weight_grad,
                                const at::Tensor& bias_grad) = nullptr;

  // depthwise_conv3x3(), bf16 with channels last.
  bool (*has_depthwise)(const at::Tensor& x, std::int64_t stride) = nullptr;
  at::Tensor (*depthwise_forward)(const at::Tensor& x, const at::Tensor& weight,
                                  std::int64_t stride) = nullptr;
  // Returns the data gradient; undefined when it is not wanted.
  at::Tensor (*depthwise_backward)(const at::Tensor& x,
                                   const at::Tensor& weight,
                                   const at::Tensor& grad, std::int64_t stride,
                                   bool input_too,
                                   const at::Tensor& weight_grad) = nullptr;

  // max_pool(), bf16 with channels last; `sizes` of its input.
  bool (*has_max_pool)(const at::Tensor& x, const PoolWindow& window) = nullptr;
  MaxPoolForward (*max_pool_forward)(const at::Tensor& x,
                                     const PoolWindow& window) = nullptr;
  at::Tensor (*max_pool_backward)(const at::Tensor& grad,
                                  const at::Tensor& where,
                                  const PoolWindow& window,
                                  at::IntArrayRef sizes) = nullptr;

  // to[c] = sum over rows of x[row][c]; fp32, contiguous.
  void (*column_sums)(const at::Tensor& x, const at::Tensor& to) = nullptr;
  // The same of bf16 rows, summed in fp32.
  bool (*has_half_column_sums)(const at::Tensor& x) = nullptr;
  void (*half_column_sums)(const at::Tensor& x, const at::Tensor& to) = nullptr;

  // add_norm(); what is undefined in `to` is not wanted, sum_grad may be too.
  bool (*has_add_norm)(const AddNormInput& in) = nullptr;
  AddNormForward (*add_norm_forward)(const AddNormInput& in) = nullptr;
  AddNormBackward (*add_norm_backward)(const AddNormKept& kept,
                                       const at::Tensor& grad,
                                       const at::Tensor& sum_grad,
                                       const AddNormGrads& to) = nullptr;

  // gelu(x + bias) and its gradient; bf16, contiguous, a bias may be undefined.
  bool (*has_gelu)(const at::Tensor& x, const at::Tensor& bias) = nullptr;
  at::Tensor (*gelu_forward)(const at::Tensor& x, const at::Tensor& bias,
                             bool tanh) = nullptr;
  at::Tensor (*gelu_backward)(const at::Tensor& grad, const at::Tensor& x,
                              const at::Tensor& bias, bool tanh,
                              const at::Tensor& bias_grad) = nullptr;

  // to[token] += sum of the rows of grad that belong to it; fp32, contiguous.
  void (*add_embedding_grad)(const at::Tensor& tokens, const at::Tensor& grad,
                             const at::Tensor& to) = nullptr;

  // cross_entropy_count()
  bool (*has_loss)(const at::Tensor& logits,
                   const at::Tensor& targets) = nullptr;
  LossCount (*loss)(const at::Tensor& logits, const at::Tensor& targets,
                    double smoothing, double scale) = nullptr;

  // Fills in a batch of images that lie on the device.
  void (*image_batch)(const ImageBatch& batch) = nullptr;

  // Keeps a stream busy for so many seconds: an emulated message.
  void (*delay)(c10::Stream stream, double seconds) = nullptr;
};

// The library calls the first, once; null functions before that.
void set_gpu_table(const GpuTable& table);
const GpuTable& gpu_table();

}  // namespace lockstep
