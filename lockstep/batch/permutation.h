// SPDX-License-Identifier: Apache-2.0
// Is the mutual information more than chance would give? The labels, or one
// of the two variables, are shuffled and the estimate taken again.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

struct PermutationOptions {
  int k = 3;
  int permutations = 999;
  std::uint64_t seed = 1;
};

struct DependenceTest {
  double nats = 0;  // clipped at zero
  // (1 + permuted estimates at least as large) / (1 + permutations)
  double p_value = 1;
  double null_mean = 0, null_sd = 0;  // of the permuted estimates
};

// A label and a continuous variable (Ross). Values are scaled and jittered.
DependenceTest test_dependence(std::span<const int> labels,
                               std::span<const double> values,
                               const PermutationOptions& options = {});

// Two continuous variables (KSG).
DependenceTest test_dependence(std::span<const double> x,
                               std::span<const double> y,
                               const PermutationOptions& options = {});

}  // namespace lockstep
