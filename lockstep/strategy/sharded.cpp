// SPDX-License-Identifier: Apache-2.0
// As ddp, but each rank updates a share of the parameters and keeps only that
// share's optimiser state (ZeRO, stage 1): buckets are reduce-scattered while
// backward goes on, or travel as a hook has it, and all-gathered after the
// update.
#include "lockstep/strategy/sharded.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/clip.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/buckets.h"
#include "lockstep/strategy/grad_hook.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

// Where a rank's share of a bucket begins in it, and how long it is.
struct Part {
  std::int64_t begin = 0, numel = 0;
};

class Sharded final : public Strategy {
 public:
  explicit Sharded(const StrategyContext& context)
      : context_(context),
        buffers_(*context.model.module),
        list_(param_list(context.params, *context.model.module)),
        shape_{.ranks = context.group.size(),
               .accumulate = context.config.batch.accumulate},
        plan_(lockstep::plan(context.config.strategy, list_, shape_)),
        values_planned_(with_payload(plan_, Payload::parameters)),
        messages_(context.group, context.recorder),
        hook_(make_grad_hook(hook_context(context, plan_, messages_))),
        buckets_(context.params, buckets_in(plan_),
                 [this](std::size_t bucket) { send_grads(bucket); }) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override { broadcast_from_0(context_, buffers_); }

  void share_out(Optimizer& optimizer) override {
    optimizer_ = &optimizer;
    optimizer.own(ranges_of(context_.group.rank()));
  }

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    send_buffers(context_, buffers_, plan_, messages_);
    norms_ = input.norms;
    StepOutcome outcome = run_passes(context_, input, buckets_);
    hook_.finish();
    context_.recorder.cut(Span::exposed_comm);
    if (norms_)
      for (const OwnedRange& r : ranges_of(context_.group.rank()))
        norms_->add_whole(context_.params.grads().narrow(0, r.begin, r.numel),
                          /*shared=*/true);
    optimizer.step(input.lr, clip_over_ranks());
    context_.recorder.cut(Span::optim);
    for (std::size_t b = 0; b < buckets_.size(); ++b) send_values(b);
    messages_.wait();
    context_.recorder.cut(Span::exposed_comm);
    return outcome;
  }

  // The whole state, as one rank would hold it: any number of ranks can go on
  // from it.
  StrategyState save() override {
    StrategyState out = hook_.save();
    check(optimizer_ != nullptr, "the optimiser was shared out");
    for (const auto& [name, mine] : optimizer_->state())
      out.tensors.emplace_back(name, whole_of(mine));
    return out;
  }

  void load(const StrategyState& saved) override {
    const at::NoGradGuard no_grad;
    check(optimizer_ != nullptr, "the optimiser was shared out");
    hook_.load(saved);
    for (auto& [name, mine] : optimizer_->state()) {
      const auto found = std::ranges::find(
          saved.tensors, name, [](const auto& t) { return t.first; });
      if (found == saved.tensors.end())
        throw Error(Fault::store, "checkpoint",
                    "has no optimiser state '" + name + "'",
                    "it was written by another strategy");
      for (const OwnedRange& r : ranges_of(context_.group.rank()))
        mine.narrow(0, r.state_begin, r.numel)
            .copy_(found->second.narrow(0, r.begin, r.numel));
    }
  }

  Json account() const override {
    return account_of(hook_, context_.config, list_, shape_);
  }

 private:
  Part part(std::size_t bucket, int rank) const {
    const std::int64_t numel = buckets_.numel(bucket);
    const int ranks = context_.group.size();
    return {share_begin(numel, ranks, rank), share_of(numel, ranks, rank)};
  }

  // A rank's share of every bucket, in the order of the flat buffer: buckets
  // go from its end to its beginning.
  std::vector<OwnedRange> ranges_of(int rank) const {
    std::vector<OwnedRange> out;
    std::int64_t state_begin = 0;
    for (std::size_t b = buckets_.size(); b-- > 0;) {
      const Part mine = part(b, rank);
      out.push_back({buckets_.begin(b) + mine.begin, mine.numel, state_begin});
      state_begin += mine.numel;
    }
    return out;
  }

  void send_grads(std::size_t bucket) {
    if (norms_ && context_.group.size() > 1)
      norms_->add_sent(buckets_.grads(bucket));
    hook_.start(bucket);
  }

  void send_values(std::size_t bucket) {
    const at::Tensor whole = buckets_.values(bucket);
    const Part mine = part(bucket, context_.group.rank());
    messages_.start(values_planned_[bucket], static_cast<std::int64_t>(bucket),
                    {.op = Collective::all_gather,
                     .tensor = whole,
                     .input = whole.narrow(0, mine.begin, mine.numel)});
  }

  // Each rank knows the norm of its share only; the shares' squares are added
  // in rank order, so every rank clips alike.
  double clip_over_ranks() {
    const double limit = context_.config.train.clip_norm;
    if (limit == 0) return 1;
    double square = 0;
    for (const OwnedRange& r : ranges_of(context_.group.rank())) {
      const double norm = at::linalg_vector_norm(context_.params.grads().narrow(
                                                     0, r.begin, r.numel))
                              .item<double>();
      square += norm * norm;
    }
    Group& group = context_.group;
    const at::Tensor own = at::empty({1}, at::kLong);
    const at::Tensor all = at::zeros({group.size()}, at::kLong);
    *own.data_ptr<std::int64_t>() = std::bit_cast<std::int64_t>(square);
    messages_.start(
        {.op = Collective::all_gather,
         .payload = Payload::control,
         .type = WireType::int64,
         .bytes = group.size() * bytes_of(WireType::int64)},
        0, {.op = Collective::all_gather, .tensor = all, .input = own});
    messages_.wait();
    double sum = 0;
    for (int r = 0; r < group.size(); ++r)
      sum += std::bit_cast<double>(all.const_data_ptr<std::int64_t>()[r]);
    return clip_scale(std::sqrt(sum), limit);
  }

  // Rank 0: all ranks' shares where they belong; undefined elsewhere.
  at::Tensor whole_of(const at::Tensor& mine) {
    const at::NoGradGuard no_grad;
    Group& group = context_.group;
    Call call{.op = Collective::gather, .input = mine};
    std::int64_t numel = 0;
    for (int r = 0; r < group.size(); ++r) {
      const OwnedRange last = ranges_of(r).back();
      call.shares.push_back(last.state_begin + last.numel);
      numel += call.shares.back();
    }
    if (group.rank() == 0) call.tensor = at::zeros({numel}, mine.options());
    group.run(call);
    if (group.rank() != 0) return {};
    at::Tensor whole = at::empty_like(call.tensor);
    std::int64_t begin = 0;
    for (int r = 0; r < group.size(); ++r) {
      for (const OwnedRange& range : ranges_of(r))
        whole.narrow(0, range.begin, range.numel)
            .copy_(
                call.tensor.narrow(0, begin + range.state_begin, range.numel));
      begin += call.shares[static_cast<std::size_t>(r)];
    }
    return whole;
  }

  StrategyContext context_;
  FlatBuffers buffers_;
  ParamList list_;
  StepShape shape_;
  CommPlan plan_;
  std::vector<Message> values_planned_;
  Messages messages_;
  GradHook hook_;
  Buckets buckets_;
  Optimizer* optimizer_ = nullptr;
  GradNorms* norms_ = nullptr;  // of the step under way
};

}  // namespace

std::unique_ptr<Strategy> make_sharded(const StrategyContext& context) {
  return std::make_unique<Sharded>(context);
}

}  // namespace lockstep
