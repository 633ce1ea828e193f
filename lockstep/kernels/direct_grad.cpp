// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/direct_grad.h"

#include <ATen/ops/empty.h>
#include <torch/types.h>

#include "lockstep/core/error.h"

namespace lockstep {

void allow_direct_grad(const at::Tensor& parameter) {
  check(parameter.grad().defined(), "a direct gradient has a buffer");
  if (direct_grad_of(parameter)) return;
  parameter.unsafeGetTensorImpl()->set_backend_meta(
      c10::make_intrusive<DirectGrad>());
  // Autograd is about to add to .grad: what it adds to must be real. The hook
  // holds no reference to the parameter, which would keep itself alive.
  auto* impl = parameter.unsafeGetTensorImpl();
  parameter.register_hook([impl](const at::Tensor& arriving) {
    if (arriving.defined())
      settle(at::Tensor(
          c10::intrusive_ptr<c10::TensorImpl,
                             c10::UndefinedTensorImpl>::reclaim_copy(impl)));
    return at::Tensor();
  });
}

DirectGrad* direct_grad_of(const at::Tensor& parameter) {
  return dynamic_cast<DirectGrad*>(
      parameter.unsafeGetTensorImpl()->get_backend_meta());
}

void add_direct_grad(const at::Tensor& parameter, const at::Tensor& grad) {
  DirectGrad& direct = *direct_grad_of(parameter);
  at::Tensor to = parameter.grad();
  direct.stale ? to.copy_(grad) : to.add_(grad);
  direct.used = true;
  direct.stale = false;
}

at::Tensor begin_grad(const at::Tensor& parameter) {
  const DirectGrad* direct = direct_grad_of(parameter);
  if (direct && direct->stale && parameter.grad().is_contiguous())
    return parameter.grad();
  return at::empty(parameter.sizes(), parameter.options().requires_grad(false));
}

at::Tensor end_grad(const at::Tensor& parameter, const at::Tensor& written) {
  DirectGrad* direct = direct_grad_of(parameter);
  if (!direct || !parameter.grad().defined()) return written;
  if (written.is_same(parameter.grad()))
    direct->stale = false;
  else
    add_direct_grad(parameter, written);
  return {};
}

void settle(const at::Tensor& parameter) {
  DirectGrad* direct = direct_grad_of(parameter);
  if (!direct || !direct->stale) return;
  const at::NoGradGuard no_grad;
  at::Tensor(parameter).mutable_grad().zero_();
  direct->stale = false;
}

}  // namespace lockstep
