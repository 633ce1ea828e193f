// SPDX-License-Identifier: Apache-2.0
// Settings of the `strategy` section. No torch: the predictor reads them too.
#pragma once

#include <cstdint>

namespace lockstep {

// The enumerator, the word in a recipe, the CLI value and the key in a run
// record are the same word.
enum class StrategyKind {
  automatic,
  single,
  data_parallel,
  ddp,
  sharded,
  local_sgd
};

// What `auto` stands for on so many ranks; every other kind is itself.
constexpr StrategyKind resolved(StrategyKind kind, std::int64_t ranks) {
  if (kind != StrategyKind::automatic) return kind;
  return ranks > 1 ? StrategyKind::ddp : StrategyKind::single;
}

// How data_parallel moves what all replicas hold: through device 0 one replica
// after the other, or with every device passing on what it received.
enum class Route { star, ring, tree };

// What becomes of gradients, or of parameters' changes, before they travel.
enum class HookKind { none, bf16, fp16, topk, powersgd };

struct StrategyConfig {
  StrategyKind kind = StrategyKind::automatic;
  std::int64_t first_bucket_bytes = 1024 * 1024;
  std::int64_t bucket_bytes = 25 * 1024 * 1024;
  Route collective = Route::star;
  std::int64_t local_steps = 8;
  std::int64_t local_start = 0;
  HookKind hook = HookKind::none;
  double topk_share = 0.01;
  std::int64_t powersgd_rank = 2;
  bool sync_batchnorm = false;
};

template <class Visitor>
void describe(Visitor& v, StrategyConfig& c) {
  v.choice("kind", c.kind,
           {"auto", "single", "data_parallel", "ddp", "sharded", "local_sgd"},
           "how replicas agree on gradients; auto: single on one rank, ddp on "
           "more");
  v.number("first_bucket_bytes", c.first_bucket_bytes, {.min = 1},
           "ddp, sharded, hooks of local_sgd: the first group of gradients "
           "closes at this size");
  v.number("bucket_bytes", c.bucket_bytes, {.min = 1},
           "ddp, sharded, hooks of local_sgd: every later group of gradients "
           "closes at this size");
  v.choice("collective", c.collective, {"star", "ring", "tree"},
           "data_parallel: how parameters go out and gradients come back");
  v.number("local_steps", c.local_steps, {.min = 1},
           "local_sgd: average the parameters every so many steps");
  v.number("local_start", c.local_start, {.min = 0},
           "local_sgd: steps before this one share gradients, as ddp does");
  v.choice("hook", c.hook, {"none", "bf16", "fp16", "topk", "powersgd"},
           "how gradients are made smaller before they travel; of local_sgd "
           "the changes of parameters");
  v.real("topk_share", c.topk_share, {.min = 1e-6, .max = 1},
         "topk: share of each group of gradients that is sent, the largest");
  v.number("powersgd_rank", c.powersgd_rank, {.min = 1, .max = 1024},
           "powersgd: columns of the two factors that stand for a matrix");
  v.flag("sync_batchnorm", c.sync_batchnorm,
         "BatchNorm takes its statistics over the samples of all ranks");
}

}  // namespace lockstep
