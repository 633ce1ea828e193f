// SPDX-License-Identifier: Apache-2.0
// Settings of the `batch` section: how many samples make a step.
// global batch = ranks x batch per rank x accumulation.
#pragma once

#include <cstdint>

namespace lockstep {

struct BatchConfig {
  std::int64_t per_rank = 0;
  std::int64_t global = 0;
  std::int64_t accumulate = 1;
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
}

}  // namespace lockstep
