// SPDX-License-Identifier: Apache-2.0
// Golden values T1 to T3b, T7, T8: computed by hand and with NumPy from the
// formulas; T1 is scikit-learn's own unit test.
#include "lockstep/batch/information.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

Confusion ten_class_table() {
  Confusion c{10, std::vector<std::int64_t>(100)};
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j < 10; ++j)
      c.count[i * 10 + j] = i == j ? 940 : (i + j) % 3 != 0 ? 7 : 6;
  return c;
}

TEST(Information, T1DiscreteByHand) {
  const std::vector<int> x = {0, 1, 1, 0, 0}, y = {1, 0, 0, 0, 1};
  EXPECT_NEAR(plug_in_information(count_confusion(x, y, 2)), 0.2911031660323688,
              1e-15);
}

TEST(Information, T2ThreeClasses) {
  const Confusion c{3, {50, 3, 2, 4, 40, 6, 1, 5, 39}};
  EXPECT_NEAR(plug_in_information(c), 0.6144892220533795, 1e-14);
  EXPECT_NEAR(miller_madow_information(c), 0.6011558887200462, 1e-14);
  EXPECT_NEAR(plug_in_standard_error(c), 0.06846052104059362, 1e-14);
  EXPECT_NEAR(label_entropy(c), 1.0952733774372052, 1e-14);
  EXPECT_DOUBLE_EQ(accuracy(c), 0.86);
  EXPECT_NEAR(fano_information(0.86, 3, label_entropy(c)), 0.5932692870948744,
              1e-14);
}

TEST(Information, T3TenClasses) {
  const Confusion c = ten_class_table();
  EXPECT_EQ(num_examples(c), 10000);
  EXPECT_NEAR(plug_in_information(c), 1.9439367934665466, 1e-13);
  EXPECT_NEAR(miller_madow_information(c), 1.9398867934665465, 1e-13);
  EXPECT_NEAR(plug_in_information(c) - miller_madow_information(c), 81. / 20000,
              1e-15);
  EXPECT_NEAR(plug_in_standard_error(c), 0.011747883992769319, 1e-13);
  EXPECT_NEAR(fano_information(accuracy(c), 10, label_entropy(c)),
              1.9437840958532675, 1e-13);
}

TEST(Information, T3bAPerfectClassifierExceedsTheEntropyByTheCorrection) {
  Confusion c{10, std::vector<std::int64_t>(100)};
  for (std::size_t i = 0; i < 10; ++i) c.count[i * 11] = 940;
  EXPECT_NEAR(plug_in_information(c), std::log(10), 1e-14);
  EXPECT_NEAR(miller_madow_information(c), 2.303063816398301, 1e-14);
}

// The table of section 1.2: accuracy 0.50 to 0.95 for 10, 100, 1000 classes.
TEST(Information, FanoTableOfBalancedClasses) {
  const std::vector<double> acc = {.5, .7, .8, .9, .93, .94, .95};
  const std::vector<std::pair<int, std::vector<double>>> table = {
      {10, {0.5108, 1.0326, 1.3627, 1.7578, 1.8951, 1.9438, 1.9942}},
      {100, {1.6145, 2.6158, 3.1857, 3.8206, 4.0299, 4.1025, 4.1769}},
      {1000, {2.7612, 4.2249, 5.0260, 5.8920, 6.1706, 6.2664, 6.3639}}};
  for (const auto& [classes, nats] : table)
    for (std::size_t i = 0; i < acc.size(); ++i) {
      const double value = information_of_accuracy(acc[i], classes);
      EXPECT_NEAR(value, nats[i], 5.1e-5) << classes << " " << acc[i];
      EXPECT_NEAR(accuracy_of_information(value, classes), acc[i], 1e-12);
    }
}

TEST(Information, FanoErrorIsThatOfTheMatrixForASymmetricChannel) {
  EXPECT_NEAR(fano_standard_error(0.94, 10, 10000), 0.01175, 1e-5);
}

// Mean I_pl about 0.00405, mean I_MM about 0, 2 N I_pl as chi-square of 81.
TEST(Information, T7RandomLabelsCarryNothing) {
  std::mt19937_64 random(3);
  std::vector<double> plug_in, corrected, p_values;
  for (int repeat = 0; repeat < 60; ++repeat) {
    std::vector<int> a(10000), b(10000);
    for (int& v : a) v = static_cast<int>(draw_below(random, 10));
    for (int& v : b) v = static_cast<int>(draw_below(random, 10));
    const Confusion c = count_confusion(a, b, 10);
    plug_in.push_back(plug_in_information(c));
    corrected.push_back(miller_madow_information(c));
    p_values.push_back(test_independence(c).p_value);
  }
  EXPECT_NEAR(mean(plug_in), 0.00405, 0.0003);
  EXPECT_NEAR(mean(corrected), 0, 0.0003);
  EXPECT_NEAR(mean(p_values), 0.5, 0.13);
  EXPECT_EQ(test_independence(ten_class_table()).degrees_of_freedom, 81);
  EXPECT_LT(test_independence(ten_class_table()).p_value, 1e-12);
}

Confusion any_confusion() {
  const int classes = *rc::gen::inRange(2, 7);
  const auto side = static_cast<std::size_t>(classes);
  Confusion c{classes, *rc::gen::container<std::vector<std::int64_t>>(
                           side * side, rc::gen::inRange<std::int64_t>(0, 40))};
  ++c.count[0];
  return c;
}

RC_GTEST_PROP(Information, T8PlugInIsBoundedAndKnowsNoNames, ()) {
  const Confusion c = any_confusion();
  const double nats = plug_in_information(c);
  RC_ASSERT(nats >= 0);
  RC_ASSERT(nats <= label_entropy(c) + 1e-12);
  const auto n = static_cast<std::size_t>(c.classes);
  Confusion turned = c;  // rows by one on, columns reversed
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      turned.count[(i + 1) % n * n + (n - 1 - j)] = c.count[i * n + j];
  RC_ASSERT(std::abs(plug_in_information(turned) - nats) < 1e-12);
  RC_ASSERT(std::abs(miller_madow_information(turned) -
                     miller_madow_information(c)) < 1e-12);
}

RC_GTEST_PROP(Information, FanoIsALowerBound, ()) {
  const Confusion c = any_confusion();
  RC_ASSERT(fano_information(accuracy(c), c.classes, label_entropy(c)) <=
            plug_in_information(c) + 1e-12);
}

RC_GTEST_PROP(Information, T8FanoIsExactForASymmetricChannel, ()) {
  const int n = *rc::gen::inRange(2, 8);
  const auto classes = static_cast<std::size_t>(n);
  const auto wrong = *rc::gen::inRange<std::int64_t>(0, 50);
  const auto right = wrong + *rc::gen::inRange<std::int64_t>(1, 500);
  Confusion c{n, std::vector<std::int64_t>(classes * classes, wrong)};
  for (std::size_t i = 0; i < classes; ++i) c.count[i * (classes + 1)] = right;
  RC_ASSERT(std::abs(plug_in_information(c) -
                     information_of_accuracy(accuracy(c), n)) < 1e-12);
}

TEST(Information, ALabelNeverPredictedTakesNoPart) {
  const Confusion c{3, {10, 0, 2, 3, 0, 8, 1, 0, 12}};
  const Confusion without{3, {10, 2, 0, 3, 8, 0, 1, 12, 0}};
  EXPECT_TRUE(std::isfinite(plug_in_information(c)));
  EXPECT_NEAR(miller_madow_information(c), miller_madow_information(without),
              1e-15);
  EXPECT_EQ(test_independence(c).degrees_of_freedom, 2);
}

TEST(Information, OneClassIsRefusedOrWorthNothing) {
  EXPECT_THROW(fano_information(1, 1, 0), Error);
  EXPECT_THROW(count_confusion({}, {}, 1), Error);
  const Confusion only{2, {7, 3, 0, 0}};  // the second class never occurs
  EXPECT_EQ(label_entropy(only), 0);
  EXPECT_EQ(plug_in_information(only), 0);
  EXPECT_EQ(test_independence(only).p_value, 1);
}

TEST(Information, ChanceAndBelowAreWorthNothing) {
  EXPECT_EQ(information_of_accuracy(0.1, 10), 0);
  EXPECT_EQ(information_of_accuracy(0, 10), 0);
  EXPECT_GT(information_of_accuracy(0.11, 10), 0);
}

TEST(Information, BadInputIsNamed) {
  const std::vector<int> two = {0, 1}, three = {0, 1, 1}, far = {0, 2};
  EXPECT_THROW(count_confusion(two, three, 2), Error);
  EXPECT_THROW(count_confusion(two, far, 2), Error);
  EXPECT_THROW(count_confusion({}, {}, 2), Error);
  EXPECT_THROW(information_of_accuracy(std::nan(""), 10), Error);
  EXPECT_THROW(information_of_accuracy(94, 10), Error);
  EXPECT_THROW(plug_in_information({2, {0, 0, 0, 0}}), Error);
}

TEST(Information, CorrectionNeedsTenExamplesACell) {
  EXPECT_TRUE(can_correct_bias(10000, 10));
  EXPECT_FALSE(can_correct_bias(10000, 100));
  EXPECT_FALSE(can_correct_bias(256190, 1000));
}

}  // namespace
}  // namespace lockstep
