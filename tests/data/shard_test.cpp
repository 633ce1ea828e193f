// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "lockstep/data/random.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// First outputs of Vigna's splitmix64.c for the seed 1234567.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

// Written down once: a change would break every resumed run and every record.
TEST(EpochOrder, IsTheSameOnEveryMachine) {
  EXPECT_THAT(epoch_order(8, 1, 0, true), ElementsAre(4, 2, 0, 5, 6, 1, 7, 3));
  EXPECT_THAT(epoch_order(8, 1, 1, true), ElementsAre(3, 5, 6, 7, 2, 0, 4, 1));
}

TEST(EpochOrder, WithoutReshuffleRepeatsTheFirst) {
  EXPECT_EQ(epoch_order(100, 7, 3, false), epoch_order(100, 7, 0, true));
  EXPECT_NE(epoch_order(100, 7, 3, true), epoch_order(100, 7, 0, true));
  EXPECT_NE(epoch_order(100, 7, 0, true), epoch_order(100, 8, 0, true));
}

RC_GTEST_PROP(EpochOrder, IsAPermutation, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(0, 300);
  std::vector<std::int64_t> order =
      epoch_order(size, *rc::gen::arbitrary<std::uint64_t>(),
                  *rc::gen::inRange<std::int64_t>(0, 50), true);
  std::ranges::sort(order);
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  RC_ASSERT(order == all);
}

// Of 10,000 shuffles of three, each of the six orders is within five standard
// deviations (37 of 1,667).
TEST(EpochOrder, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::int64_t epoch = 0; epoch < 10000; ++epoch)
    ++seen[epoch_order(3, 5, epoch, true)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 1667, 187);
}

// The samples that all ranks together read in each step, from their shares.
std::vector<std::multiset<std::int64_t>> steps_of(
    const std::vector<Share>& shares, std::int64_t passes) {
  std::vector<std::multiset<std::int64_t>> steps;
  for (const Share& share : shares) {
    auto next = share.samples.begin();
    for (std::size_t i = 0; i < share.batches.size(); ++i) {
      const auto step = i / static_cast<std::size_t>(passes);
      if (steps.size() <= step) steps.resize(step + 1);
      steps[step].insert(next, next + share.batches[i]);
      next += share.batches[i];
    }
    RC_ASSERT(next == share.samples.end());
  }
  return steps;
}

RC_GTEST_PROP(Share, NothingIsLostOrRepeatedFromAnyPlace, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto passes = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto global = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto begin = *rc::gen::inRange<std::int64_t>(0, size + 1);
  const auto order = epoch_order(size, 3, 0, true);
  std::vector<Share> shares;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    shares.push_back(share_of(order, {.global_batch = global,
                                      .ranks = ranks,
                                      .rank = rank,
                                      .passes = passes,
                                      .begin = begin}));
  const auto steps = steps_of(shares, passes);
  RC_ASSERT(std::ssize(steps) == steps_left(size, global, begin));
  std::int64_t at = begin;
  for (const auto& step : steps) {
    const std::int64_t end = std::min(at + global, size);
    RC_ASSERT(step == std::multiset<std::int64_t>(order.begin() + at,
                                                  order.begin() + end));
    at = end;
  }
  RC_ASSERT(at == size);
}

RC_GTEST_PROP(Share, SharesOfAStepDifferByOneAtMost, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto global = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto order = epoch_order(size, 3, 0, true);
  const Share first = share_of(order, {.global_batch = global, .ranks = ranks});
  for (std::int64_t rank = 1; rank < ranks; ++rank) {
    const Share other =
        share_of(order, {.global_batch = global, .ranks = ranks, .rank = rank});
    RC_ASSERT(other.batches.size() == first.batches.size());
    for (std::size_t i = 0; i < first.batches.size(); ++i)
      RC_ASSERT(first.batches[i] - other.batches[i] == 0 ||
                first.batches[i] - other.batches[i] == 1);
  }
}

// Strong scaling: the global batch stays, so 1 and 4 ranks train the same
// samples in each step.
TEST(Share, TheSameStepsForAnyNumberOfRanks) {
  const auto order = epoch_order(50, 9, 2, true);
  const auto all = [&](std::int64_t ranks) {
    std::vector<Share> shares;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      shares.push_back(
          share_of(order, {.global_batch = 12, .ranks = ranks, .rank = rank}));
    return steps_of(shares, 1);
  };
  EXPECT_EQ(all(1), all(4));
  EXPECT_EQ(all(1), all(5));
}

TEST(Share, ARankWithoutSamplesInTheLastStepStillHasThatStep) {
  const auto order = epoch_order(9, 1, 0, true);
  const Share last =
      share_of(order, {.global_batch = 4, .ranks = 4, .rank = 3});
  EXPECT_THAT(last.batches, ElementsAre(1, 1, 0));
}

}  // namespace
}  // namespace lockstep
