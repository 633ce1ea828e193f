// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

std::vector<std::int32_t> some_labels() {
  const auto counts = *rc::gen::container<std::vector<int>>(
      *rc::gen::inRange<std::size_t>(1, 6), rc::gen::inRange(0, 40));
  std::vector<std::int32_t> labels;
  for (std::size_t c = 0; c < counts.size(); ++c)
    labels.insert(labels.end(), static_cast<std::size_t>(counts[c]),
                  static_cast<std::int32_t>(c));
  return labels;
}

std::map<std::int32_t, std::int64_t> count(
    const Positions& positions, const std::vector<std::int32_t>& labels) {
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int64_t at : positions)
    ++counts[labels[static_cast<std::size_t>(at)]];
  return counts;
}

TEST(Split, HoldsBackAFifthOfEachClass) {
  std::vector<std::int32_t> labels(100, 0);
  labels.insert(labels.end(), 50, 1);
  const Parts parts = split_by_class(labels, 0.2, 0);
  EXPECT_EQ(count(parts.validation, labels),
            (std::map<std::int32_t, std::int64_t>{{0, 20}, {1, 10}}));
}

TEST(Split, TheSeedDecidesAndNothingElse) {
  const std::vector<std::int32_t> labels(100, 0);
  EXPECT_EQ(split_by_class(labels, 0.2, 4).validation,
            split_by_class(labels, 0.2, 4).validation);
  EXPECT_NE(split_by_class(labels, 0.2, 4).validation,
            split_by_class(labels, 0.2, 5).validation);
  // Written down once: records name the seed only.
  EXPECT_THAT(
      split_by_class(std::vector<std::int32_t>(10, 0), 0.3, 0).validation,
      ElementsAre(1, 6, 7));
}

RC_GTEST_PROP(Split, EverySampleIsInOnePart, ()) {
  const std::vector<std::int32_t> labels = some_labels();
  Parts parts = split_by_class(labels, 0.2, 1);
  Positions both = parts.train;
  both.insert(both.end(), parts.validation.begin(), parts.validation.end());
  std::ranges::sort(both);
  Positions all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  RC_ASSERT(both == all);
}

RC_GTEST_PROP(Limit, TakesTheSameOfEachClassAsFarAsTheyHaveIt, ()) {
  const std::vector<std::int32_t> labels = some_labels();
  Positions all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  const auto size = static_cast<std::int64_t>(labels.size());
  const auto wanted = *rc::gen::inRange<std::int64_t>(1, 200);
  const Positions kept = limit_evenly(all, labels, wanted);
  RC_ASSERT(std::ssize(kept) == std::min(wanted, size));
  RC_ASSERT(std::ranges::adjacent_find(kept, std::greater_equal<>()) ==
            kept.end());
  const auto have = count(all, labels);
  auto taken = count(kept, labels);
  std::int64_t most = 0;
  for (const auto& [label, n] : taken) most = std::max(most, n);
  for (const auto& [label, n] : have)
    RC_ASSERT(taken[label] >= std::min(n, most - 1));
}

TEST(Limit, ZeroIsAll) {
  EXPECT_THAT(limit_evenly({3, 5}, std::vector<std::int32_t>(6, 0), 0),
              ElementsAre(3, 5));
}

}  // namespace
}  // namespace lockstep
