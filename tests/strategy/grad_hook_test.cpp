// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/grad_hook.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <cmath>

#include "lockstep/comm/thread_group.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/plan/hook_plan.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "tests/strategy/training.h"

namespace lockstep {
namespace {

using testing::relative;

constexpr std::int64_t kRows = 30, kCols = 20, kOut = 4;
constexpr std::int64_t kNumel = kRows * kCols + kRows + kOut * kRows + kOut;

// Two buckets: the last layer, then the first.
StrategyConfig config_of(HookKind hook) {
  return {.kind = StrategyKind::ddp,
          .first_bucket_bytes = 100,
          .bucket_bytes = 1 << 20,
          .hook = hook,
          .topk_share = 0.05,
          .powersgd_rank = 2};
}

// One rank with a hook: gradients in, what the update would get out.
class HookedRank {
 public:
  HookedRank(const StrategyConfig& config, Group& group)
      : config_(config),
        device_(open_device("cpu")),
        module_(torch::nn::Linear(kCols, kRows),
                torch::nn::Linear(kRows, kOut)),
        params_(*module_),
        recorder_(group.rank(), device_->time_source(), {}),
        messages_(group, recorder_),
        plan_(plan(config_, param_list(params_, *module_),
                   {.ranks = group.size()})),
        hook_(make_grad_hook({.config = config_,
                              .plan = plan_,
                              .params = params_,
                              .group = group,
                              .messages = messages_,
                              .seed = 1})),
        num_buckets_(
            buckets_of(config_, param_list(params_, *module_)).size()) {}

  at::Tensor step(const at::Tensor& grads) {
    const at::NoGradGuard no_grad;
    recorder_.begin_step(steps_, 0);
    params_.grads().copy_(grads);
    for (std::size_t b = 0; b < num_buckets_; ++b) hook_.start(b);
    hook_.finish();
    recorder_.cut(Span::exposed_comm);
    recorder_.end_step(1);
    ++steps_;
    return params_.grads().clone();
  }

  GradHook& hook() { return hook_; }
  const CommPlan& planned() const { return plan_; }
  std::vector<CommSample> sent() {
    return recorder_
        .collect(std::vector<double>(static_cast<std::size_t>(steps_)))
        .messages;
  }

 private:
  StrategyConfig config_;
  std::unique_ptr<Device> device_;
  torch::nn::Sequential module_;
  FlatParams params_;
  Recorder recorder_;
  Messages messages_;
  CommPlan plan_;
  GradHook hook_;
  std::size_t num_buckets_;
  std::int64_t steps_ = 0;
};

// Gradients of a step of a rank: the same whoever asks.
at::Tensor grads_of(std::int64_t step, int rank) {
  at::Generator g = at::detail::createCPUGenerator(
      static_cast<std::uint64_t>(100 * step + rank));
  return at::randn({kNumel}, g, at::kFloat);
}

at::Tensor sum_of_ranks(std::int64_t step, int ranks) {
  at::Tensor sum = grads_of(step, 0);
  for (int r = 1; r < ranks; ++r) sum = sum + grads_of(step, r);
  return sum;
}

void on_ranks(int ranks, HookKind hook,
              const std::function<void(HookedRank&, Group&)>& body) {
  run_ranks(ranks, {.deadline_s = 20}, [&](Group& group) {
    HookedRank rank(config_of(hook), group);
    body(rank, group);
  });
}

constexpr HookKind kAll[] = {HookKind::none, HookKind::bf16, HookKind::fp16,
                             HookKind::topk, HookKind::powersgd};

TEST(GradHook, WithoutOneGradientsAreTheSumInRankOrder) {
  for (const int ranks : {1, 2, 3, 4})
    on_ranks(ranks, HookKind::none, [&](HookedRank& rank, Group& group) {
      EXPECT_TRUE(at::equal(rank.step(grads_of(0, group.rank())),
                            sum_of_ranks(0, ranks)));
    });
}

TEST(GradHook, SixteenBitHooksRoundEachRankAndThenTheSum) {
  for (const int ranks : {1, 2, 3})
    for (const auto& [hook, type] : {std::pair(HookKind::bf16, at::kBFloat16),
                                     std::pair(HookKind::fp16, at::kHalf)})
      on_ranks(ranks, hook, [&, t = type](HookedRank& rank, Group& group) {
        at::Tensor sum = at::zeros({kNumel});
        for (int r = 0; r < ranks; ++r)
          sum += grads_of(0, r).to(t).to(at::kFloat);
        EXPECT_TRUE(at::equal(rank.step(grads_of(0, group.rank())),
                              sum.to(t).to(at::kFloat)));
      });
}

// The plainest form of top-k: sort by size, keep the first k.
at::Tensor largest(const at::Tensor& values, std::int64_t count) {
  const at::Tensor order = values.abs().argsort(0, /*descending=*/true);
  const at::Tensor chosen = order.slice(0, 0, count);
  return at::zeros_like(values).index_copy_(0, chosen,
                                            values.index_select(0, chosen));
}

TEST(GradHook, TopKSendsTheLargestOfGradientPlusWhatWasKeptBack) {
  constexpr std::int64_t kLast = kOut * kRows + kOut;  // the first bucket
  for (const int ranks : {1, 2, 4})
    on_ranks(ranks, HookKind::topk, [&](HookedRank& rank, Group& group) {
      std::vector<at::Tensor> kept(static_cast<std::size_t>(ranks),
                                   at::zeros({kNumel}));
      for (std::int64_t step = 0; step < 3; ++step) {
        at::Tensor expected = at::zeros({kNumel});
        for (int r = 0; r < ranks; ++r) {
          at::Tensor& error = kept[static_cast<std::size_t>(r)];
          const at::Tensor whole = error + grads_of(step, r);
          at::Tensor sent = at::zeros({kNumel});
          for (const auto& [begin, n] :
               {std::pair(kNumel - kLast, kLast),
                std::pair<std::int64_t, std::int64_t>(0, kNumel - kLast)})
            sent.narrow(0, begin, n)
                .copy_(largest(whole.narrow(0, begin, n),
                               topk_count(config_of(HookKind::topk), n)));
          error = whole - sent;
          expected += sent;
        }
        EXPECT_TRUE(
            at::equal(rank.step(grads_of(step, group.rank())), expected));
      }
    });
}

TEST(GradHook, PowerSgdIsExactForAMatrixOfItsRank) {
  const at::Tensor left = at::randn({kRows, 2}), right = at::randn({2, kCols});
  for (const int ranks : {1, 2, 3})
    on_ranks(ranks, HookKind::powersgd, [&](HookedRank& rank, Group& group) {
      at::Tensor grads = at::zeros({kNumel});
      // Every rank holds another matrix of the same two directions.
      grads.narrow(0, 0, kRows * kCols)
          .copy_((left.matmul(right) * (1.0 + group.rank())).flatten());
      const at::Tensor sum =
          grads * (ranks * (ranks + 1) / 2.0 / (1.0 + group.rank()));
      EXPECT_LT(relative(rank.step(grads), sum), 1e-5);
    });
}

// One power iteration with plain matrices in double, from the same start.
TEST(GradHook, PowerSgdEqualsAPlainPowerIteration) {
  on_ranks(2, HookKind::powersgd, [&](HookedRank& rank, Group& group) {
    at::Tensor q;
    for (const auto& [name, tensor] : rank.hook().save().tensors)
      if (name == "factor.0.weight") q = tensor.to(at::kDouble).clone();
    const at::Tensor sum = sum_of_ranks(0, 2)
                               .narrow(0, 0, kRows * kCols)
                               .view({kRows, kCols})
                               .to(at::kDouble);
    const at::Tensor p = std::get<0>(at::linalg_qr(sum.matmul(q)));
    const at::Tensor expected = p.matmul(p.t().matmul(sum));
    const at::Tensor got = rank.step(grads_of(0, group.rank()));
    EXPECT_LT(relative(got.narrow(0, 0, kRows * kCols).view({kRows, kCols}),
                       expected),
              1e-5);
    // Biases are too small to gain: they travel whole.
    const at::Tensor bias = got.narrow(0, kRows * kCols, kRows);
    EXPECT_TRUE(
        at::equal(bias, sum_of_ranks(0, 2).narrow(0, kRows * kCols, kRows)));
  });
}

// What was applied and what all ranks still keep back add up to all gradients
// there were: nothing is lost, only late.
TEST(GradHook, ErrorFeedbackLosesNothing) {
  constexpr std::int64_t kSteps = 20;
  for (const HookKind hook : {HookKind::topk, HookKind::powersgd})
    for (const int ranks : {1, 2, 3, 4})
      on_ranks(ranks, hook, [&](HookedRank& rank, Group& group) {
        at::Tensor applied = at::zeros({kNumel}), all = at::zeros({kNumel});
        for (std::int64_t step = 0; step < kSteps; ++step) {
          applied += rank.step(grads_of(step, group.rank()));
          all += sum_of_ranks(step, ranks);
        }
        EXPECT_GT(relative(applied, all), 0.05);
        const StrategyState state = rank.hook().save();
        if (group.rank() != 0) return;
        EXPECT_LT(relative(applied + state.tensors.front().second.sum(0), all),
                  1e-5);
      });
}

// The same gradient again and again: the mean of what is applied approaches it
// as 1 / steps, because the error that is kept back stays bounded.
TEST(GradHook, ErrorFeedbackApproachesAConstantGradient) {
  for (const HookKind hook : {HookKind::topk, HookKind::powersgd})
    on_ranks(2, hook, [&](HookedRank& rank, Group& group) {
      at::Tensor applied = at::zeros({kNumel});
      double after_50 = 0, after_200 = 0;
      for (int step = 1; step <= 200; ++step) {
        applied += rank.step(grads_of(0, group.rank()));
        const double off = relative(applied / step, sum_of_ranks(0, 2));
        if (step == 50) after_50 = off;
        if (step == 200) after_200 = off;
      }
      EXPECT_LT(after_200, 0.35 * after_50);
      EXPECT_LT(after_200, 0.1);
    });
}

TEST(GradHook, EveryRankGetsTheSameBits) {
  for (const HookKind hook : kAll) {
    std::vector<at::Tensor> got(3);
    on_ranks(3, hook, [&](HookedRank& rank, Group& group) {
      for (std::int64_t step = 0; step < 3; ++step)
        got[static_cast<std::size_t>(group.rank())] =
            rank.step(grads_of(step, group.rank()));
    });
    EXPECT_TRUE(at::equal(got[0], got[1]));
    EXPECT_TRUE(at::equal(got[0], got[2]));
  }
}

TEST(GradHook, SendsExactlyWhatWasPlanned) {
  for (const HookKind hook : kAll)
    for (const int ranks : {1, 2, 3})
      on_ranks(ranks, hook, [&](HookedRank& rank, Group& group) {
        rank.step(grads_of(0, group.rank()));
        const std::vector<CommSample> sent = rank.sent();
        ASSERT_EQ(sent.size(), rank.planned().size());
        for (std::size_t i = 0; i < sent.size(); ++i) {
          EXPECT_EQ(sent[i].bytes, rank.planned()[i].bytes);
          EXPECT_EQ(sent[i].op, word(rank.planned()[i].op));
          EXPECT_EQ(sent[i].payload, "gradients");
        }
      });
}

TEST(GradHook, GoesOnFromItsStateToTheBit) {
  for (const HookKind hook : kAll) {
    StrategyState file;  // rank 0 writes it, every rank reads it
    on_ranks(2, hook, [&](HookedRank& rank, Group& group) {
      rank.step(grads_of(0, group.rank()));
      const StrategyState saved = rank.hook().save();
      if (group.rank() == 0)
        for (const auto& [name, tensor] : saved.tensors)
          file.tensors.emplace_back(name, tensor.clone());
      group.run({.op = Collective::barrier});
      const at::Tensor expected = rank.step(grads_of(1, group.rank()));
      HookedRank again(config_of(hook), group);
      again.hook().load(file);
      EXPECT_TRUE(at::equal(again.step(grads_of(1, group.rank())), expected));
    });
  }
}

TEST(GradHook, ErrorsAreSharedOutAtAnotherNumberOfRanks) {
  StrategyState state;
  on_ranks(3, HookKind::topk, [&](HookedRank& rank, Group& group) {
    rank.step(grads_of(0, group.rank()));
    const StrategyState mine = rank.hook().save();
    if (group.rank() == 0) state = mine;
  });
  const at::Tensor kept = state.tensors.front().second.sum(0);
  on_ranks(2, HookKind::topk, [&](HookedRank& rank, Group& group) {
    rank.hook().load(state);
    const StrategyState mine = rank.hook().save();
    if (group.rank() != 0) return;
    EXPECT_LT(relative(mine.tensors.front().second.sum(0), kept), 1e-6);
  });
}

TEST(GradHook, SaysHowMuchItLeftOut) {
  const auto left = [](HookKind hook) {
    double out = -1;
    on_ranks(2, hook, [&](HookedRank& rank, Group& group) {
      rank.step(grads_of(0, group.rank()));
      if (group.rank() == 0)
        out = rank.hook().account().at("error_left_last").get<double>();
    });
    return out;
  };
  // Half a unit in the last of 8 or 11 bits, at the most.
  EXPECT_LT(left(HookKind::bf16), 1.0 / 256);
  EXPECT_GT(left(HookKind::bf16), left(HookKind::fp16));
  EXPECT_LT(left(HookKind::fp16), 1.0 / 2048);
  // 5 % of normal numbers hold about a quarter of their sum of squares.
  EXPECT_NEAR(left(HookKind::topk), std::sqrt(1 - 0.25), 0.06);
  EXPECT_GT(left(HookKind::powersgd), 0.5);
}

TEST(GradHook, AStepWithoutGradientsDoesNotStopPowerSgd) {
  on_ranks(1, HookKind::powersgd, [&](HookedRank& rank, Group&) {
    rank.step(at::zeros({kNumel}));
    const at::Tensor got = rank.step(grads_of(0, 0));
    EXPECT_TRUE(got.isfinite().all().item<bool>());
    EXPECT_GT(got.narrow(0, 0, kRows * kCols).norm().item<double>(), 1);
  });
}

}  // namespace
}  // namespace lockstep
