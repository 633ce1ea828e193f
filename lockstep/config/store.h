// SPDX-License-Identifier: Apache-2.0
// Settings of the `store` section: what a run keeps on disk, and when.
#pragma once

#include <cstdint>

namespace lockstep {

struct StoreConfig {
  bool checkpoint = true;
  std::int64_t every_epochs = 1;
  std::int64_t every_steps = 0;
  bool keep_best = true;
};

template <class Visitor>
void describe(Visitor& v, StoreConfig& c) {
  v.flag("checkpoint", c.checkpoint, "write checkpoints at all");
  v.number("every_epochs", c.every_epochs, {.min = 0},
           "checkpoint after every so many epochs; 0: only at the end");
  v.number("every_steps", c.every_steps, {.min = 0},
           "checkpoint after every so many steps too; 0: never");
  v.flag("keep_best", c.keep_best,
         "keep the parameters of the best validation accuracy as well");
}

}  // namespace lockstep
