// SPDX-License-Identifier: Apache-2.0
// Layers in bf16 on a GPU whose parameters stay fp32: they read the copy of all
// weights that is made once a step (FlatParams::cast_to_half) and write their
// gradients in fp32 where the update reads them.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace lockstep {

// Whether such a layer may work on x: under bf16 autocast on a GPU, while
// gradients are wanted, with a parameter whose gradient may be written
// directly.
bool takes_half(const at::Tensor& x, const at::Tensor& parameter);

// The same of a weight that has no gradient, whether or not others have one.
bool takes_fixed_half(const at::Tensor& x, const at::Tensor& weight);

// The parameter in bf16: the step's copy, or a new one where there is none.
at::Tensor half_of(const at::Tensor& parameter);

// The sum of bf16 rows is the gradient of a bias: [rows, columns] -> [columns],
// to where it belongs. What is returned goes to autograd.
at::Tensor half_bias_grad(const at::Tensor& rows, const at::Tensor& bias);

// [..., features] -> [rows, features] in bf16.
at::Tensor half_rows(const at::Tensor& x);

// Rows back in the shape of `like`, but for the last dimension.
at::Tensor shaped(const at::Tensor& rows, const at::Tensor& like);

// An argument that is undefined is not one to autograd.
inline std::optional<at::Tensor> maybe(const at::Tensor& t) {
  return t.defined() ? std::make_optional(t) : std::nullopt;
}

}  // namespace lockstep
