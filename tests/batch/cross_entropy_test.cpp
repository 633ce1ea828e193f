// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// A symmetric channel's exact posterior as logits, times `sharpness`. Classes
// and errors are spread evenly, so finite-sample noise is nil.
struct Channel {
  std::vector<double> logits;
  std::vector<int> labels;
  static constexpr int kClasses = 5;

  Channel(double accuracy, double sharpness) {
    const int per_class = 400,
              wrong = static_cast<int>(std::lround((1 - accuracy) * per_class));
    for (int y = 0; y < kClasses; ++y)
      for (int i = 0; i < per_class; ++i) {
        const int said =
            i < wrong ? (y + 1 + i % (kClasses - 1)) % kClasses : y;
        labels.push_back(y);
        for (int c = 0; c < kClasses; ++c)
          logits.push_back(
              sharpness *
              std::log(c == said ? accuracy : (1 - accuracy) / (kClasses - 1)));
      }
  }
  ScoredLabels view() const { return {logits, labels, kClasses}; }
};

TEST(CrossEntropy, T9TheExactPosteriorOfAChannelGivesFano) {
  for (const double acc : {0.5, 0.8, 0.95}) {
    const Channel channel(acc, 1);
    const auto info = cross_entropy_information(channel.view());
    EXPECT_NEAR(info.nats, information_of_accuracy(acc, 5), 1e-12) << acc;
    EXPECT_NEAR(info.temperature, 1, 1e-6) << acc;
  }
}

TEST(CrossEntropy, OneTemperatureUndoesOverConfidence) {
  const Channel channel(0.8, 3);
  const auto info = cross_entropy_information(channel.view());
  EXPECT_LT(info.nats, info.corrected_nats);
  EXPECT_NEAR(info.temperature, 3, 1e-5);
  EXPECT_NEAR(info.corrected_nats, information_of_accuracy(0.8, 5), 1e-12);
  EXPECT_LT(cross_entropy_information(Channel(0.8, 8).view()).nats, 0);
}

TEST(CrossEntropy, ItsErrorIsThatOfTheMeanLoss) {
  const Channel channel(0.8, 1);
  // Two losses only: -ln 0.8 with share 0.8, -ln 0.05 with share 0.2.
  const double sd = (std::log(0.8) - std::log(0.05)) * std::sqrt(0.8 * 0.2);
  EXPECT_NEAR(cross_entropy_information(channel.view()).se,
              sd / std::sqrt(2000), 1e-5);
}

TEST(CrossEntropy, NoTemperatureHelpsAPerfectNet) {
  const std::vector<double> logits = {2, 0, 0, 2, 2, 0, 0, 2};
  const std::vector<int> labels = {0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(fit_temperature({logits, labels, 2}), 1e-3);
}

TEST(CrossEntropy, BadInputIsRefused) {
  const std::vector<double> logits = {2, 0, 0, 2},
                            bad = {2, std::nan(""), 0, 2};
  const std::vector<int> labels = {0, 1}, far = {0, 2};
  EXPECT_THROW(cross_entropy({bad, labels, 2}), Error);
  EXPECT_THROW(cross_entropy({logits, far, 2}), Error);
  EXPECT_THROW(cross_entropy({logits, labels, 3}), Error);
  EXPECT_THROW(cross_entropy({logits, labels, 1}), Error);
  EXPECT_THROW(cross_entropy({logits, labels, 2}, 0), Error);
  EXPECT_THROW(cross_entropy_information({logits, labels, 2}), Error);
}

}  // namespace
}  // namespace lockstep
