// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/grad_norms.h"

#include <ATen/ATen.h>

#include "lockstep/kernels/update.h"

namespace lockstep {
namespace {

// Scalar, double, on the device of `flat`.
at::Tensor squared_norm(const at::Tensor& flat) {
  if (flat.is_cpu()) {
    const double norm = norm_of(flat.const_data_ptr<float>(), flat.numel());
    return at::scalar_tensor(norm * norm, at::kDouble);
  }
  return at::linalg_vector_norm(flat, 2, {}, false, at::kDouble).square();
}

void add_to(at::Tensor& total, const at::Tensor& part) {
  total = total.defined() ? total + part : part;
}

}  // namespace

void GradNorms::add_pass(const at::Tensor& grads, std::int64_t samples,
                         double share, bool more) {
  const at::NoGradGuard no_grad;
  // What this pass added is the difference to what was there before.
  const at::Tensor sq =
      squared_norm(before_.defined() ? before_.sub_(grads) : grads);
  parts_.push_back({sq / (share * share), samples});
  if (!more)
    before_.reset();
  else if (before_.defined())
    before_.copy_(grads);
  else
    before_ = grads.clone();
}

void GradNorms::add_sent(const at::Tensor& grads) {
  const at::NoGradGuard no_grad;
  add_to(sent_sq_, squared_norm(grads));
}

void GradNorms::end_sent(std::int64_t samples, double share) {
  if (sent_sq_.defined() && samples > 0)
    parts_.push_back({sent_sq_ / (share * share), samples});
  sent_sq_.reset();
}

void GradNorms::add_whole(const at::Tensor& grads, bool shared) {
  const at::NoGradGuard no_grad;
  add_to(whole_sq_, squared_norm(grads));
  shared_ = shared;
}

}  // namespace lockstep
