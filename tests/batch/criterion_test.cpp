// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/criterion.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Rises to `end` nats with time constant `slow_s`, evaluated every second.
Envelope curve(double end, double slow_s, double length_s = 60) {
  std::vector<double> t, v;
  for (double s = 1; s <= length_s; ++s) {
    t.push_back(s);
    v.push_back(end * (1 - std::exp(-s / slow_s)));
  }
  return monotone_envelope(t, v);
}

CriterionOptions ten_classes() { return {.label_entropy = std::log(10)}; }

TEST(Envelope, OnlyRisesAndStartsAtNothing) {
  const std::vector<double> t = {1, 2, 3}, v = {0.5, 0.3, 0.9};
  const Envelope e = monotone_envelope(t, v);
  EXPECT_EQ(e.value, (std::vector<double>{0, 0.5, 0.5, 0.9}));
  EXPECT_DOUBLE_EQ(*time_to(e, 0.25, Crossing::interpolated), 0.5);
  EXPECT_DOUBLE_EQ(*time_to(e, 0.7, Crossing::interpolated), 2.5);
  EXPECT_DOUBLE_EQ(*time_to(e, 0.7, Crossing::evaluation), 3);
  EXPECT_FALSE(time_to(e, 0.91, Crossing::interpolated));
}

TEST(Envelope, SkipsWhatWasNotEvaluatedAndRefusesDisorder) {
  const std::vector<double> t = {1, 2, 3}, gap = {0.5, std::nan(""), 0.9};
  EXPECT_EQ(monotone_envelope(t, gap).time_s.size(), 3u);
  const std::vector<double> back = {1, 3, 2}, fewer = {1, 2},
                            none(3, std::nan(""));
  EXPECT_THROW(monotone_envelope(back, t), Error);
  EXPECT_THROW(monotone_envelope(fewer, t), Error);
  EXPECT_THROW(monotone_envelope(t, none), Error);
}

RC_GTEST_PROP(Envelope, ReachesNoTargetLaterInterpolatedThanEvaluated, ()) {
  const double end = *rc::gen::inRange(1, 23) / 10.0;
  const double target = end * *rc::gen::inRange(1, 99) / 100.0;
  const Envelope e = curve(end, *rc::gen::inRange(1, 12));
  const auto a = time_to(e, target, Crossing::interpolated);
  const auto b = time_to(e, target, Crossing::evaluation);
  RC_ASSERT(a.has_value() == b.has_value());
  if (a) RC_ASSERT(*a <= *b && *b - *a <= 1 + 1e-9);
}

TEST(Criterion, TheFirstToTheCommonTargetIsChosen) {
  const std::vector<BatchCandidate> c = {
      {32, {curve(2.0, 9)}}, {64, {curve(2.0, 6)}}, {128, {curve(2.0, 8)}}};
  const InformationChoice choice = choose_by_information(c, ten_classes());
  EXPECT_NEAR(choice.target_nats, 0.98 * curve(2.0, 6).last(), 1e-12);
  EXPECT_EQ(choice.outcomes[choice.chosen].batch, 64);
  const BatchOutcome& o = choice.outcomes[choice.chosen];
  EXPECT_NEAR(o.rate, choice.target_nats / *o.time_s, 1e-12);
}

// Two runs that agree to the last digit know no more than their validation set.
TEST(Criterion, RunsThatAgreeByChanceDiscardNobody) {
  const std::vector<BatchCandidate> c = {
      {32, {curve(1.80, 9), curve(1.80, 9)}},
      {64, {curve(1.785, 6), curve(1.785, 6)}}};
  CriterionOptions options = ten_classes();
  EXPECT_TRUE(choose_by_information(c, options).outcomes[1].discarded);
  options.sampling_se = 0.01;
  const InformationChoice choice = choose_by_information(c, options);
  EXPECT_FALSE(choice.outcomes[1].discarded);
  EXPECT_EQ(choice.outcomes[choice.chosen].batch, 64);
}

// Information saturates: a batch that is fast but ends low must not win.
TEST(Criterion, TheGuardDiscardsAFastBatchThatEndsLow) {
  const std::vector<BatchCandidate> c = {{64, {curve(2.0, 6)}},
                                         {512, {curve(1.97, 2)}}};
  const InformationChoice choice = choose_by_information(c, ten_classes());
  EXPECT_TRUE(choice.outcomes[1].discarded);
  EXPECT_GT(choice.outcomes[1].rate, choice.outcomes[0].rate);
  EXPECT_EQ(choice.outcomes[choice.chosen].batch, 64);
}

TEST(Criterion, ABatchThatNeverArrivesHasRateZero) {
  const std::vector<BatchCandidate> c = {{64, {curve(2.0, 6)}},
                                         {512, {curve(1.5, 2)}}};
  const InformationChoice choice = choose_by_information(c, ten_classes());
  EXPECT_EQ(choice.outcomes[1].rate, 0);
  EXPECT_EQ(choice.outcomes[1].num_reached, 0u);
  EXPECT_FALSE(choice.outcomes[1].time_s);
}

TEST(Criterion, TiesGoToTheHigherEndThenToTheSmallerBatch) {
  const std::vector<BatchCandidate> higher = {{64, {curve(2.0, 6)}},
                                              {128, {curve(2.005, 6.3)}}};
  const auto a = choose_by_information(higher, ten_classes());
  EXPECT_EQ(a.ties.size(), 2u);
  EXPECT_EQ(a.outcomes[a.fastest].batch, 64);
  EXPECT_EQ(a.outcomes[a.chosen].batch, 128);
  const std::vector<BatchCandidate> equal = {{128, {curve(2.0, 6)}},
                                             {64, {curve(2.0, 6)}}};
  const auto b = choose_by_information(equal, ten_classes());
  EXPECT_EQ(b.outcomes[b.chosen].batch, 64);
}

TEST(Criterion, ABatchWithADivergedRunIsNotChosen) {
  const std::vector<BatchCandidate> c = {
      {64, {curve(2.0, 9), curve(2.0, 9)}},
      {512, {curve(2.0, 3), curve(2.0, 3)}, true}};
  const auto choice = choose_by_information(c, ten_classes());
  EXPECT_EQ(choice.outcomes[choice.chosen].batch, 64);
  const std::vector<BatchCandidate> all = {{64, {curve(2.0, 9)}, true},
                                           {512, {curve(2.0, 3)}, true}};
  EXPECT_THROW(choose_by_information(all, ten_classes()), Error);
}

std::vector<BatchCandidate> seeds(std::size_t each) {
  std::mt19937_64 random(3);
  std::vector<BatchCandidate> c = {{32, {}}, {64, {}}, {128, {}}, {256, {}}};
  for (BatchCandidate& one : c)
    for (std::size_t i = 0; i < each; ++i)
      one.runs.push_back(curve(2.0 + 0.005 * draw_normal(random),
                               (one.batch == 64    ? 5.0
                                : one.batch == 128 ? 5.2
                                                   : 9.0) +
                                   0.3 * draw_normal(random)));
  return c;
}

TEST(Criterion, SeedsGiveAnErrorAndAnInterval) {
  const auto c = seeds(5);
  const auto choice = choose_by_information(c, ten_classes());
  const auto interval = choice_interval(c, ten_classes(), choice);
  EXPECT_GT(choice.outcomes[choice.chosen].rate_se, 0);
  EXPECT_GE(interval.low, 64);
  EXPECT_LE(interval.high, 128);
  EXPECT_EQ(interval.basis, "5 runs each, resampled");
}

TEST(Criterion, TwoSeedsAreARoughGuideAndSaySo) {
  const auto c = seeds(2);
  const auto choice = choose_by_information(c, ten_classes());
  EXPECT_EQ(choice_interval(c, ten_classes(), choice).basis,
            "two runs each: a rough guide");
}

TEST(Criterion, OneRunEachLeavesTheErrorOfTheValidationSet) {
  const auto c = seeds(1);
  CriterionOptions options = ten_classes();
  auto choice = choose_by_information(c, options);
  EXPECT_EQ(choice_interval(c, options, choice).basis,
            "one run each and no error known: no interval");
  options.sampling_se = 0.0117;
  choice = choose_by_information(c, options);
  const auto interval = choice_interval(c, options, choice);
  EXPECT_LE(interval.low, choice.outcomes[choice.chosen].batch);
  EXPECT_GE(interval.high, choice.outcomes[choice.chosen].batch);
  EXPECT_EQ(interval.basis, "one run each: error of the validation set alone");
}

RC_GTEST_PROP(Criterion, AFasterClockScalesTheRatesAndKeepsTheChoice, ()) {
  const double factor = *rc::gen::inRange(1, 100) / 10.0;
  auto c = seeds(3);
  const auto before = choose_by_information(c, ten_classes());
  for (BatchCandidate& one : c)
    for (Envelope& run : one.runs)
      for (double& t : run.time_s) t *= factor;
  const auto after = choose_by_information(c, ten_classes());
  RC_ASSERT(before.chosen == after.chosen);
  RC_ASSERT(std::abs(after.outcomes[0].rate * factor / before.outcomes[0].rate -
                     1) < 1e-9);
}

std::string refusal(std::span<const BatchCandidate> c,
                    const CriterionOptions& o) {
  try {
    choose_by_information(c, o);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Criterion, BadInputIsRefusedWithItsReason) {
  const std::vector<BatchCandidate> one = {{64, {curve(2.0, 6)}}};
  EXPECT_EQ(refusal(one, ten_classes()),
            "batch: 1 batch size: there is nothing to choose from");
  const std::vector<BatchCandidate> two = {{64, {curve(2.0, 6)}},
                                           {128, {curve(2.0, 6)}}};
  EXPECT_EQ(refusal(two, {.label_entropy = 0}),
            "labels: one class only: predictions can say nothing about it");
  EXPECT_NE(refusal(two, {.label_entropy = 2.3, .target_nats = 2.2}), "");
  EXPECT_NE(refusal(two, {.label_entropy = 2.3, .delta = 1}), "");
  const std::vector<BatchCandidate> dull = {{64, {curve(0, 6)}},
                                            {128, {curve(0, 6)}}};
  EXPECT_EQ(refusal(dull, ten_classes()),
            "batch: no batch size learnt anything: the target is 0 nats");
  const std::vector<BatchCandidate> no_runs = {{64, {curve(2.0, 6)}},
                                               {128, {}}};
  EXPECT_EQ(refusal(no_runs, ten_classes()),
            "batch 128: has no run that can be judged");
}

}  // namespace
}  // namespace lockstep
