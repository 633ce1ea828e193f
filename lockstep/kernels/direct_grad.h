// SPDX-License-Identifier: Apache-2.0
// Lets a kernel write a parameter's gradient where it belongs, in the flat
// buffer, instead of into a tensor that autograd then adds. For a weight larger
// than the caches this halves what backward moves.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

namespace lockstep {

// Travels with a parameter. The gradient itself is the parameter's .grad.
struct DirectGrad final : c10::BackendMeta {
  // A kernel of ours wrote this gradient at least once.
  bool used = false;
  // What is in .grad is left over from the step before and counts as zero: the
  // next writer overwrites it. Only ever true when `used` is.
  bool stale = false;
  // The parameter in bf16, as of the last FlatParams::cast_to_half(); undefined
  // where nobody asks for that.
  at::Tensor half = {};
};

// The parameter may be written to directly from now on; its .grad must be
// defined. Gradients that arrive the ordinary way still add up correctly.
void allow_direct_grad(const at::Tensor& parameter);

// Null when it may not.
DirectGrad* direct_grad_of(const at::Tensor& parameter);

// Where a kernel writes this parameter's gradient: .grad itself when it is
// stale and contiguous, else a tensor of its own. Hand it to end_grad()
// afterwards, and what that returns to autograd.
at::Tensor begin_grad(const at::Tensor& parameter);
at::Tensor end_grad(const at::Tensor& parameter, const at::Tensor& written);

// Adds a gradient that came as a tensor of any type, or overwrites what is
// stale. The parameter allows it.
void add_direct_grad(const at::Tensor& parameter, const at::Tensor& grad);

// Makes the zero that `stale` stands for real.
void settle(const at::Tensor& parameter);

}  // namespace lockstep
