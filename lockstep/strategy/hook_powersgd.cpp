// SPDX-License-Identifier: Apache-2.0
// PowerSGD (Vogels, Karimireddy, Jaggi 2019): the gradient of a matrix travels
// as two thin factors, M ~ P Q^T, found by one step of power iteration from
// the last step's Q. What they miss is added to the next gradient.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "lockstep/comm/group.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/plan/hook_plan.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

// One parameter in its bucket. Views of the bucket's buffers throughout.
struct Matrix {
  at::Tensor grads, error;  // [rows, cols]
  at::Tensor left;          // P, [rows, rank], in the first message
  at::Tensor right;         // M^T P, [cols, rank], in the second
  at::Tensor start;         // Q of the step before, [cols, rank]
  std::string name;
};

// A parameter that factors would not make smaller.
struct Whole {
  at::Tensor grads, error, sent;  // [numel]
};

struct Factored {
  std::vector<Matrix> matrices;
  std::vector<Whole> wholes;
  at::Tensor left, right;  // what the two messages carry
};

// Columns of length one, each at right angles to those before it. A column of
// zeros stays one.
void orthogonalise(const at::Tensor& p) {
  for (std::int64_t i = 0; i < p.size(1); ++i) {
    const at::Tensor column = p.select(1, i);
    for (std::int64_t j = 0; j < i; ++j) {
      const at::Tensor before = p.select(1, j);
      column.sub_(before * at::dot(before, column));
    }
    column.div_(column.norm().clamp_min(1e-30));
  }
}

class PowerSgdHook {
 public:
  explicit PowerSgdHook(const HookContext& context)
      : messages_(context.messages),
        buckets_(hook_buckets(context)),
        error_(context) {
    for (const HookBucket& bucket : buckets_)
      factored_.push_back(factor(context, bucket));
  }

  void start(std::size_t bucket) {
    const at::NoGradGuard no_grad;
    const HookBucket& b = buckets_[bucket];
    const Factored& f = factored_[bucket];
    const at::Tensor kept = error_.of(b).add_(b.grads);
    for (const Whole& w : f.wholes) w.sent.copy_(w.error), w.error.zero_();
    for (const Matrix& m : f.matrices) {
      at::Tensor left = m.left;
      at::mm_out(left, m.error, m.start);
    }
    messages_.start(b.messages.front(), static_cast<std::int64_t>(bucket),
                    {.op = Collective::all_reduce, .tensor = f.left});
  }

  void finish() {
    const at::NoGradGuard no_grad;
    messages_.wait();
    for (std::size_t i = 0; i < buckets_.size(); ++i) send_right(i);
    messages_.wait();
    for (const Factored& f : factored_) put_back(f);
    error_left_.end_send();
  }

  StrategyState save() {
    StrategyState state;
    error_.save(state);
    for (const Factored& f : factored_)
      for (const Matrix& m : f.matrices)
        state.tensors.emplace_back("factor." + m.name, m.start);
    return state;
  }

  void load(const StrategyState& state) {
    const at::NoGradGuard no_grad;
    error_.load(state);
    for (const Factored& f : factored_)
      for (const Matrix& m : f.matrices)
        m.start.copy_(find_tensor(state, "factor." + m.name));
  }

  at::Tensor take_back() { return error_.take(); }
  Json account() { return error_left_.account(); }

 private:
  Factored factor(const HookContext& context, const HookBucket& bucket);

  // P is summed: with orthogonal columns, P P^T M is the part of M that P
  // spans. This rank's own share of it is what it sends; the rest it keeps.
  void send_right(std::size_t bucket) {
    const HookBucket& b = buckets_[bucket];
    const Factored& f = factored_[bucket];
    if (f.matrices.empty()) return;
    const at::Tensor kept = error_.of(b);
    const at::Tensor whole = error_left_.due() ? kept.clone() : at::Tensor();
    for (const Matrix& m : f.matrices) {
      at::Tensor right = m.right, error = m.error;
      orthogonalise(m.left);
      at::mm_out(right, error.t(), m.left);
      error.addmm_(m.left, right.t(), /*beta=*/1, /*alpha=*/-1);
    }
    if (whole.defined()) error_left_.add(kept, whole);
    messages_.start(b.messages.at(1), static_cast<std::int64_t>(bucket),
                    {.op = Collective::all_reduce, .tensor = f.right});
  }

  static void put_back(const Factored& f) {
    for (const Whole& w : f.wholes) w.grads.copy_(w.sent);
    for (const Matrix& m : f.matrices) {
      at::Tensor grads = m.grads;
      at::mm_out(grads, m.left, m.right.t());
      // A step without gradients must not leave a start of zeros for ever.
      m.start.copy_(
          at::where(m.right.abs().sum(0, true) > 0, m.right, m.start));
    }
  }

  Messages& messages_;
  std::vector<HookBucket> buckets_;
  ErrorFeedback error_;
  std::vector<Factored> factored_;
  ErrorLeft error_left_;
};

Factored PowerSgdHook::factor(const HookContext& context,
                              const HookBucket& bucket) {
  Factored out;
  const auto options = bucket.grads.options();
  const std::int64_t left_numel = bucket.messages.front().bytes / 4;
  out.left = at::empty({left_numel}, options);
  if (bucket.messages.size() > 1)
    out.right = at::empty({bucket.messages[1].bytes / 4}, options);
  std::int64_t left_at = 0, right_at = 0;
  const at::Tensor error = error_.of(bucket);
  for (const std::size_t i : bucket.params) {
    const Slice& slice = context.params.slices()[i];
    const at::Tensor& param = context.params.params()[i];
    const std::int64_t at = slice.begin - bucket.begin, n = slice.numel;
    const std::int64_t rows = param.dim() > 1 ? param.size(0) : 1;
    const std::int64_t rank = powersgd_columns(context.config, n, rows);
    const at::Tensor grads = bucket.grads.narrow(0, at, n);
    const at::Tensor kept = error.narrow(0, at, n);
    if (rank == 0) {
      out.wholes.push_back({grads, kept, out.left.narrow(0, left_at, n)});
      left_at += n;
      continue;
    }
    const std::int64_t cols = n / rows;
    at::Generator generator = at::detail::createCPUGenerator(context.seed + i);
    out.matrices.push_back(
        {.grads = grads.view({rows, cols}),
         .error = kept.view({rows, cols}),
         .left = out.left.narrow(0, left_at, rows * rank).view({rows, rank}),
         .right = out.right.narrow(0, right_at, cols * rank).view({cols, rank}),
         .start = at::randn({cols, rank}, generator, at::kFloat)
                      .to(options.device()),
         .name = slice.name});
    left_at += rows * rank, right_at += cols * rank;
  }
  return out;
}

}  // namespace

GradHook make_powersgd_hook(const HookContext& context) {
  return as_grad_hook(std::make_shared<PowerSgdHook>(context));
}

}  // namespace lockstep
