// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/emulated_group.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "lockstep/comm/agree.h"
#include "lockstep/core/clock.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

// 1 ms and 100 MB/s of bus bytes.
double slow_link(Collective op, std::int64_t bytes, int ranks) {
  return 1e-3 + bus_factor(op, ranks) * static_cast<double>(bytes) / 1e8;
}

TEST(EmulatedGroup, ACollectiveTakesTheTimeOfTheLink) {
  const auto group = make_emulated_group(8, slow_link);
  EXPECT_EQ(group->size(), 8);
  const at::Tensor tensor = at::ones({2'500'000});
  const double begin = now_s();
  const TransferHandle t =
      group->start({.op = Collective::all_reduce, .tensor = tensor});
  const double want = 1e-3 + 1.75 * 1e7 / 1e8;  // 176 ms
  EXPECT_LT(now_s() - begin, want / 2);
  group->wait(t);
  EXPECT_GE(now_s() - begin, want);
  EXPECT_NEAR(group->times(t).end_s - group->times(t).begin_s, want, 1e-9);
}

TEST(EmulatedGroup, TheTransferHidesBehindComputation) {
  const auto group = make_emulated_group(8, slow_link);
  const TransferHandle t = group->start(
      {.op = Collective::all_reduce, .tensor = at::ones({2'500'000})});
  std::this_thread::sleep_for(200ms);
  const double back = now_s();
  group->wait(t);
  EXPECT_LT(now_s() - back, 0.1);
  EXPECT_LT(group->times(t).end_s, back);
}

TEST(EmulatedGroup, TheLinkCarriesOneCollectiveAtATime) {
  const auto group = make_emulated_group(4, slow_link);
  const Call call{.op = Collective::broadcast, .tensor = at::ones({250'000})};
  const TransferHandle a = group->start(call), b = group->start(call);
  group->wait(b);
  EXPECT_EQ(group->times(b).begin_s, group->times(a).end_s);
}

TEST(EmulatedGroup, ValuesAreThoseOfRanksThatHoldZeros) {
  const auto g = make_emulated_group(4, slow_link);
  at::Tensor t = at::ones({6});
  g->run({.op = Collective::all_reduce, .tensor = t});
  EXPECT_TRUE(at::equal(t, at::ones({6})));
  at::Tensor share = at::zeros({2});
  g->run({.op = Collective::reduce_scatter,
          .tensor = share,
          .input = at::arange(1, 7, at::kFloat)});
  EXPECT_EQ(share[1].item<float>(), 2);
  at::Tensor whole = at::zeros({6});
  g->run({.op = Collective::all_gather, .tensor = whole, .input = share});
  EXPECT_EQ(whole.sum().item<float>(), 3);
  EXPECT_TRUE(agree(*g, true));
}

}  // namespace
}  // namespace lockstep
