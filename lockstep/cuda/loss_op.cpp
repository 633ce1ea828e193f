// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "lockstep/cuda/loss.h"
#include "lockstep/cuda/loss_kernel.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {

bool has_loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets) {
  return logits.dim() == 2 && logits.scalar_type() == at::kFloat &&
         logits.is_contiguous() && targets.is_contiguous() &&
         targets.device() == logits.device() && logits.size(0) > 0 &&
         logits.size(1) <= 1024 &&
         logits.numel() <= (logits.size(1) <= 32 ? 1 << 17 : 1 << 18);
}

LossCount loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets,
                      double smoothing, double scale) {
  const at::Tensor x = logits.detach();
  LossCount out{.loss_sum = at::empty({}, x.options()),
                .correct = at::empty({}, targets.options()),
                .grad = at::empty_like(x)};
  launch_loss({.logits = x.const_data_ptr<float>(),
               .targets = targets.const_data_ptr<std::int64_t>(),
               .rows = static_cast<int>(x.size(0)),
               .classes = static_cast<int>(x.size(1)),
               .smoothing = static_cast<float>(smoothing),
               .scale = static_cast<float>(scale),
               .loss_sum = out.loss_sum.data_ptr<float>(),
               .correct = out.correct.data_ptr<std::int64_t>(),
               .grad = out.grad.data_ptr<float>()},
              stream_of(x));
  return out;
}

void column_sums_on_gpu(const at::Tensor& x, const at::Tensor& to) {
  launch_column_sums(x.const_data_ptr<float>(), x.size(0),
                     static_cast<int>(x.size(1)), to.data_ptr<float>(),
                     stream_of(x));
}

}  // namespace lockstep
