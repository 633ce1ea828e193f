// SPDX-License-Identifier: Apache-2.0
// Settings of the `batch` section: how many samples make a step.
// global batch = ranks x batch per rank x accumulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// fixed: as set. adaptive: chosen as training goes, by goodput. information:
// chosen by a short pilot over `candidates`.
enum class BatchMode { fixed, adaptive, information };

struct BatchConfig {
  std::int64_t per_rank = 0;
  std::int64_t global = 0;
  std::int64_t accumulate = 1;
  BatchMode mode = BatchMode::fixed;
  std::int64_t noise_every = 0;
  std::int64_t max_global = 0;
  std::int64_t max_per_pass = 0;
  std::int64_t decide_every = 100;
  double min_gain = 0.05;
  std::string decisions = {};
  std::vector<double> candidates = {};
  std::int64_t pilot_epochs = 1;
};

template <class Visitor>
void describe(Visitor& v, BatchConfig& c) {
  v.number("per_rank", c.per_rank, {.min = 0, .max = 1 << 30},
           "samples of one rank in one backward pass (weak scaling); 0: use "
           "`global`");
  v.number("global", c.global, {.min = 0, .max = 1 << 30},
           "samples of all ranks in one step (strong scaling); 0: use "
           "`per_rank`");
  v.number("accumulate", c.accumulate, {.min = 1, .max = 1 << 20},
           "backward passes before one update");
  v.choice("mode", c.mode, {"fixed", "adaptive", "information"},
           "fixed: as set; adaptive: by goodput, as training goes; "
           "information: by a pilot over `candidates`");
  v.number("noise_every", c.noise_every, {.min = 0},
           "measure the gradient's noise scale at every so many-th step; 0: "
           "never (adaptive: as often as costs 1 %)");
  v.number("max_global", c.max_global, {.min = 0, .max = 1 << 30},
           "adaptive: never more samples in a step; 0: 32 times the first");
  v.number("max_per_pass", c.max_per_pass, {.min = 0, .max = 1 << 30},
           "adaptive: never more samples of one rank in a pass, more are "
           "accumulated; 0: as memory allows");
  v.number("decide_every", c.decide_every, {.min = 1},
           "adaptive: steps between two decisions");
  v.real("min_gain", c.min_gain, {.min = 0},
         "adaptive: change only for a predicted gain above this share");
  v.text("decisions", c.decisions,
         "adaptive: repeat the decisions of this decisions.jsonl; empty: "
         "decide");
  v.reals("candidates", c.candidates, "information: the global batches to try");
  v.number("pilot_epochs", c.pilot_epochs, {.min = 1, .max = 1'000'000},
           "information: epochs of the pilot at each candidate");
}

}  // namespace lockstep
