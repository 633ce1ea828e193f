// SPDX-License-Identifier: Apache-2.0
// Which setting an outcome hangs on: mutual information between a setting, as a
// label, and the outcome, as a share of the setting's own entropy. Ranks
// settings; says nothing of direction or of the best value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lockstep/batch/permutation.h"

namespace lockstep {

// One value for each run; runs in the same order everywhere.
struct Series {
  std::string name;
  std::vector<double> values;
};

struct Sensitivity {
  std::string setting, outcome;
  std::size_t num_runs = 0;  // that could be used
  double nats = 0, entropy = 0;
  double share = 0;          // nats / entropy, at most 1
  double gaussian_nats = 0;  // beside it: fewer than 30 runs are few
  DependenceTest test;
  bool known = false;
  std::string note;  // why it is not known, or what to beware of
};

// Every setting against every outcome. A run whose outcome is not finite is
// left out and counted in the note. Settings that never part company, such as
// a learning rate scaled with the batch, are named: no statistics can tell
// their effects apart.
std::vector<Sensitivity> measure_sensitivity(
    std::span<const Series> settings, std::span<const Series> outcomes,
    const PermutationOptions& options = {});

}  // namespace lockstep
