// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/permutation.h"

#include <algorithm>
#include <vector>

#include "lockstep/batch/ksg.h"
#include "lockstep/batch/ross.h"
#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

// `estimate` is taken of `shuffled` as it stands, then after each shuffle.
template <class T, class Estimate>
DependenceTest run(std::vector<T> shuffled, const PermutationOptions& options,
                   const Estimate& estimate) {
  const double observed = estimate(shuffled);
  std::mt19937_64 random(options.seed);
  std::vector<double> null;
  for (int i = 0; i < options.permutations; ++i) {
    shuffle(std::span<T>(shuffled), random);
    null.push_back(estimate(shuffled));
  }
  const auto reached = std::ranges::count_if(
      null, [&](double value) { return value >= observed; });
  DependenceTest out;
  out.nats = std::max(observed, 0.0);
  out.p_value = static_cast<double>(1 + reached) / (1.0 + options.permutations);
  if (!null.empty()) out.null_mean = mean(null);
  if (null.size() > 1) out.null_sd = standard_deviation(null);
  return out;
}

}  // namespace

DependenceTest test_dependence(std::span<const int> labels,
                               std::span<const double> values,
                               const PermutationOptions& options) {
  const RossEstimator ross(scale_and_jitter(values, options.seed), options.k);
  return run(
      std::vector<int>(labels.begin(), labels.end()), options,
      [&](const std::vector<int>& some) { return ross.information(some); });
}

DependenceTest test_dependence(std::span<const double> x,
                               std::span<const double> y,
                               const PermutationOptions& options) {
  const std::vector<double> fixed = scale_and_jitter(x, options.seed);
  return run(scale_and_jitter(y, options.seed + 1), options,
             [&](const std::vector<double>& some) {
               return ksg_information(fixed, some, options.k);
             });
}

}  // namespace lockstep
