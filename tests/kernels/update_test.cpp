// SPDX-License-Identifier: Apache-2.0
// Every instruction set the CPU has against the plain rule in double.
#include "lockstep/kernels/update.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lockstep/kernels/update_reference.h"

namespace lockstep {
namespace {

// Four arrays with `offset` floats before the data, so that no vector load is
// aligned by luck, and a guard after it.
struct Arrays {
  Arrays(std::int64_t count, int before) : numel(count), offset(before) {
    for (auto* array : {&values, &grads, &first, &second})
      array->resize(static_cast<std::size_t>(numel + offset + 1), 7);
    for (std::int64_t i = 0; i < numel; ++i) {
      const auto at = static_cast<std::size_t>(i + offset);
      const double x = static_cast<double>(i);
      values[at] = static_cast<float>(std::sin(x));
      grads[at] = static_cast<float>(std::cos(3 * x));
      first[at] = static_cast<float>(0.1 * std::sin(5 * x));
      second[at] = static_cast<float>(0.01 * (1 + std::cos(7 * x)));
    }
  }
  UpdateSpan span() {
    return {values.data() + offset, grads.data() + offset,
            first.data() + offset, second.data() + offset, numel};
  }
  bool guards_hold() const {
    for (const auto* array : {&values, &grads, &first, &second})
      if (array->back() != 7 || (offset && array->front() != 7)) return false;
    return true;
  }
  std::int64_t numel;
  int offset;
  std::vector<float> values, grads, first, second;
};

const std::vector<std::int64_t> kSizes = {1, 3, 15, 16, 17, 63, 16384, 33000};

// update(arrays, isa) changes `arrays`; rule(state, grad) says what should be.
template <class Update, class Rule>
void compare_update(const Update& update, const Rule& rule) {
  for (const Isa isa : available_isas())
    for (const std::int64_t numel : kSizes)
      for (const int offset : {0, 1, 5}) {
        SCOPED_TRACE(isa_name(isa) + " numel " + std::to_string(numel));
        const Arrays before(numel, offset);
        Arrays after(numel, offset);
        update(after, isa);
        for (std::size_t i = static_cast<std::size_t>(offset);
             i + 1 < after.values.size(); ++i) {
          const ReferenceState want =
              rule({before.values[i], before.first[i], before.second[i]},
                   before.grads[i]);
          ASSERT_NEAR(after.values[i], want.value, 2e-6);
          ASSERT_NEAR(after.first[i], want.first, 1e-6);
          ASSERT_NEAR(after.second[i], want.second, 1e-6);
          ASSERT_EQ(after.grads[i], 0);
        }
        ASSERT_TRUE(after.guards_hold());
      }
}

void compare_sgd(const ReferenceSettings& s, float grad_scale) {
  const SgdRule rule{.lr = static_cast<float>(s.lr),
                     .weight_decay = static_cast<float>(s.weight_decay),
                     .momentum = static_cast<float>(s.momentum),
                     .grad_scale = grad_scale,
                     .nesterov = s.nesterov};
  compare_update([&](Arrays& a, Isa isa) { sgd_update(a.span(), rule, isa); },
                 [&](ReferenceState state, double grad) {
                   return reference_sgd(state, grad * grad_scale, s);
                 });
}

TEST(SgdUpdate, FollowsThePlainRule) { compare_sgd({.lr = 0.1}, 1); }

TEST(SgdUpdate, FollowsThePlainRuleWithMomentumAndDecay) {
  compare_sgd({.lr = 0.1, .weight_decay = 0.05, .momentum = 0.9}, 1);
}

TEST(SgdUpdate, FollowsThePlainRuleWithNesterovAndAScaledGradient) {
  compare_sgd({.lr = 0.1, .momentum = 0.9, .nesterov = true}, 0.25f);
}

AdamRule adam_rule(const ReferenceSettings& s, double step) {
  return {.step_size = static_cast<float>(s.lr / (1 - std::pow(s.beta1, step))),
          .inverse_root_bias =
              static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, step))),
          .take1 = static_cast<float>(1 - s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .take2 = static_cast<float>(1 - s.beta2),
          .eps = static_cast<float>(s.eps),
          .grad_scale = 0.5f,
          .keep = static_cast<float>(
              s.decoupled_decay ? 1 - s.lr * s.weight_decay : 1.0),
          .weight_decay =
              static_cast<float>(s.decoupled_decay ? 0.0 : s.weight_decay)};
}

TEST(AdamUpdate, FollowsThePlainRuleWithBothKindsOfDecay) {
  for (const bool decoupled : {false, true}) {
    const ReferenceSettings s{
        .lr = 0.01, .weight_decay = 0.1, .decoupled_decay = decoupled};
    compare_update(
        [&](Arrays& a, Isa isa) {
          adam_update(a.span(), adam_rule(s, 3), isa);
        },
        [&](ReferenceState state, double grad) {
          return reference_adam(state, grad * 0.5, s, 3);
        });
  }
}

LambRule lamb_rule(const ReferenceSettings& s, double step) {
  const AdamRule adam = adam_rule(s, step);
  return {
      .inverse_bias1 = static_cast<float>(1 / (1 - std::pow(s.beta1, step))),
      .inverse_root_bias = adam.inverse_root_bias,
      .take1 = adam.take1,
      .beta2 = adam.beta2,
      .take2 = adam.take2,
      .eps = adam.eps,
      .grad_scale = adam.grad_scale,
      .weight_decay = static_cast<float>(s.weight_decay)};
}

// Its step is AdamW's with a rate of one.
TEST(LambUpdate, TakesAdamwsStepTimesARateAndKnowsItsLength) {
  const ReferenceSettings s{
      .lr = 1, .weight_decay = 0.1, .decoupled_decay = true};
  const double rate = 0.01;
  double length = 0, expected = 0;
  compare_update(
      [&](Arrays& a, Isa isa) {
        const LambRule rule = lamb_rule(s, 3);
        EXPECT_NEAR(length, std::sqrt(expected), 1e-5 * length + 1e-9);
        expected = 0;
        length = lamb_moments(a.span(), rule, isa);
        lamb_apply(a.span(), rule, rate, isa);
      },
      [&](ReferenceState state, double grad) {
        ReferenceState after = reference_adam(state, grad * 0.5, s, 3);
        const double move = state.value - after.value;
        expected += move * move;
        after.value = state.value - rate * move;
        return after;
      });
  EXPECT_NEAR(length, std::sqrt(expected), 1e-5 * length);
}

TEST(Updates, LeaveGradientsAloneWhenAskedTo) {
  for (const Isa isa : available_isas()) {
    Arrays a(100, 0), b(100, 0);
    sgd_update(a.span(), {.lr = 1, .zero_grads = false}, isa);
    EXPECT_EQ(a.grads, b.grads);
    adam_update(a.span(), {.take1 = 1, .eps = 1, .zero_grads = false}, isa);
    EXPECT_EQ(a.grads, b.grads);
  }
}

TEST(Updates, DoNotDependOnTheNumberOfThreads) {
  const int threads = at::get_num_threads();
  const ReferenceSettings s{.lr = 0.01, .weight_decay = 0.1};
  std::vector<Arrays> results;
  std::vector<double> norms;
  for (const int n : {1, 2, 3}) {
    at::set_num_threads(n);
    Arrays a(100'003, 1);
    norms.push_back(norm_of(a.grads.data() + 1, a.numel));
    adam_update(a.span(), adam_rule(s, 2));
    norms.push_back(lamb_moments(a.span(), lamb_rule(s, 3)));
    lamb_apply(a.span(), lamb_rule(s, 3), 0.1);
    results.push_back(a);
  }
  at::set_num_threads(threads);
  EXPECT_EQ(results[0].values, results[1].values);
  EXPECT_EQ(results[0].values, results[2].values);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(norms[i], norms[i + 2]);
    EXPECT_EQ(norms[i], norms[i + 4]);
  }
}

TEST(Norm, IsExactForAnyLengthAndAlignment) {
  for (const Isa isa : available_isas())
    for (const std::int64_t numel : kSizes) {
      Arrays a(numel, 3);
      double sum = 0;
      for (std::int64_t i = 0; i < numel; ++i) {
        const double g = a.span().grads[i];
        sum += g * g;
      }
      EXPECT_NEAR(norm_of(a.span().grads, numel, isa), std::sqrt(sum), 1e-11);
    }
}

}  // namespace
}  // namespace lockstep
