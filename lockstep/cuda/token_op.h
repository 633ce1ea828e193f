// SPDX-License-Identifier: Apache-2.0
// The kernels of transformers (layer_norm.h, gelu.h, embedding.h, columns.h) on
// tensors, as kernels/gpu_table.h wants them.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_half_column_sums_on_gpu(const at::Tensor& x);
void half_column_sums_on_gpu(const at::Tensor& x, const at::Tensor& to);

bool has_layer_norm_on_gpu(const AddNormInput& in);
AddNormForward layer_norm_forward_on_gpu(const AddNormInput& in);
AddNormBackward layer_norm_backward_on_gpu(const AddNormKept& kept,
                                           const at::Tensor& grad,
                                           const at::Tensor& sum_grad,
                                           const AddNormGrads& to);

bool has_gelu_on_gpu(const at::Tensor& x, const at::Tensor& bias);
at::Tensor gelu_forward_on_gpu(const at::Tensor& x, const at::Tensor& bias,
                               bool tanh);
at::Tensor gelu_backward_on_gpu(const at::Tensor& grad, const at::Tensor& x,
                                const at::Tensor& bias, bool tanh,
                                const at::Tensor& bias_grad);

void add_embedding_grad_on_gpu(const at::Tensor& tokens, const at::Tensor& grad,
                               const at::Tensor& to);

}  // namespace lockstep
