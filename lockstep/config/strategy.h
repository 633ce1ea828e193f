// SPDX-License-Identifier: Apache-2.0
// Settings of the `strategy` section. No torch: the predictor reads them too.
#pragma once

#include <cstdint>

namespace lockstep {

// The enumerator, the word in a recipe, the CLI value and the key in a run
// record are the same word.
enum class StrategyKind { single, data_parallel, ddp, sharded, local_sgd };

// How data_parallel moves what all replicas hold: through device 0 one replica
// after the other, or with every device passing on what it received.
enum class Route { star, ring, tree };

struct StrategyConfig {
  StrategyKind kind = StrategyKind::single;
  std::int64_t first_bucket_bytes = 1024 * 1024;
  std::int64_t bucket_bytes = 25 * 1024 * 1024;
  Route collective = Route::star;
  std::int64_t local_steps = 8;
  std::int64_t local_start = 0;
};

template <class Visitor>
void describe(Visitor& v, StrategyConfig& c) {
  v.choice("kind", c.kind,
           {"single", "data_parallel", "ddp", "sharded", "local_sgd"},
           "how replicas agree on gradients");
  v.number("first_bucket_bytes", c.first_bucket_bytes, {.min = 1},
           "ddp, sharded: the first group of gradients closes at this size");
  v.number("bucket_bytes", c.bucket_bytes, {.min = 1},
           "ddp, sharded: every later group of gradients closes at this size");
  v.choice("collective", c.collective, {"star", "ring", "tree"},
           "data_parallel: how parameters go out and gradients come back");
  v.number("local_steps", c.local_steps, {.min = 1},
           "local_sgd: average the parameters every so many steps");
  v.number("local_start", c.local_start, {.min = 0},
           "local_sgd: steps before this one share gradients, as ddp does");
}

}  // namespace lockstep
