// SPDX-License-Identifier: Apache-2.0
// Settings of the `strategy` section. No torch: the predictor reads them too.
#pragma once

#include <cstdint>

namespace lockstep {

// The enumerator, the word in a recipe, the CLI value and the key in a run
// record are the same word.
enum class StrategyKind { single, data_parallel, ddp, sharded, local_sgd };

struct StrategyConfig {
  StrategyKind kind = StrategyKind::single;
  std::int64_t first_bucket_bytes = 1024 * 1024;
  std::int64_t bucket_bytes = 25 * 1024 * 1024;
};

template <class Visitor>
void describe(Visitor& v, StrategyConfig& c) {
  v.choice("kind", c.kind,
           {"single", "data_parallel", "ddp", "sharded", "local_sgd"},
           "how replicas agree on gradients");
  v.number("first_bucket_bytes", c.first_bucket_bytes, {.min = 1},
           "ddp: the first group of gradients closes at this size");
  v.number("bucket_bytes", c.bucket_bytes, {.min = 1},
           "ddp: every later group of gradients closes at this size");
}

}  // namespace lockstep
