// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "lockstep/cuda/columns.h"
#include "lockstep/cuda/loss.h"
#include "lockstep/cuda/loss_kernel.h"
#include "lockstep/cuda/tensor_args.h"
#include "lockstep/cuda/vocab_loss.h"
#include "lockstep/kernels/padded.h"

namespace lockstep {
namespace {

// What one block does in one launch.
bool is_small(const at::Tensor& logits) {
  return logits.dim() == 2 && logits.scalar_type() == at::kFloat &&
         logits.is_contiguous() && logits.size(1) <= 1024 &&
         logits.numel() <= (logits.size(1) <= 32 ? 1 << 17 : 1 << 18);
}

// What takes a block for each row. A classifier's bf16 logits are left out: few
// as they are, the caller makes them fp32 and small.
bool is_large(const at::Tensor& logits) {
  if (logits.dim() < 2 || logits.size(-1) > 1 << 30) return false;
  const bool layout = logits.is_contiguous() || is_padded(logits);
  if (logits.scalar_type() == at::kFloat) return layout;
  return logits.scalar_type() == at::kBFloat16 && layout &&
         (logits.dim() > 2 || logits.size(-1) > 1024);
}

LossCount large_loss(const at::Tensor& x, const at::Tensor& targets,
                     double smoothing, double scale) {
  const std::int64_t classes = x.size(-1), rows = x.numel() / classes;
  const std::int64_t wide = is_padded(x) ? padded_columns(classes) : classes;
  const at::Tensor grad =
      without_padding(at::empty({rows, wide}, x.options()), x.sizes());
  LossCount out{.loss_sum = at::empty({}, float_room(x)),
                .correct = at::empty({}, targets.options()),
                .grad = grad};
  const at::Tensor losses = at::empty({rows}, float_room(x));
  const at::Tensor rights = at::empty({rows}, x.options().dtype(at::kInt));
  launch_vocab_loss(
      {.logits = x.const_data_ptr(),
       .grad = grad.data_ptr(),
       .targets = targets.const_data_ptr<std::int64_t>(),
       .rows = rows,
       .stride = wide,
       .grad_stride = wide,
       .classes = static_cast<int>(classes),
       .smoothing = static_cast<float>(smoothing),
       .scale = static_cast<float>(scale),
       .losses = losses.data_ptr<float>(),
       .rights = rights.data_ptr<int>(),
       .loss_sum = out.loss_sum.data_ptr<float>(),
       .correct = out.correct.data_ptr<std::int64_t>(),
       .no_such_class = kNoSuchClass,
       .half = x.scalar_type() == at::kBFloat16,
       .aligned = is_aligned(x) && wide * x.element_size() % 16 == 0},
      stream_of(x));
  return out;
}

}  // namespace

bool has_loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets) {
  return logits.numel() > 0 && targets.is_contiguous() &&
         targets.device() == logits.device() &&
         targets.numel() == logits.numel() / logits.size(-1) &&
         (is_small(logits) || is_large(logits));
}

LossCount loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets,
                      double smoothing, double scale) {
  const at::Tensor x = logits.detach();
  if (!is_small(x)) return large_loss(x, targets, smoothing, scale);
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
               .no_such_class = kNoSuchClass,
               .grad = out.grad.data_ptr<float>()},
              stream_of(x));
  return out;
}

void column_sums_on_gpu(const at::Tensor& x, const at::Tensor& to) {
  launch_fold(x.const_data_ptr<float>(), static_cast<int>(x.size(0)),
              static_cast<int>(x.size(1)), {1, {to.data_ptr<float>()}},
              stream_of(x));
}

}  // namespace lockstep
