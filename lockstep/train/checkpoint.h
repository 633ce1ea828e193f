// SPDX-License-Identifier: Apache-2.0
// Checkpoints on disk: <folder>/step-N/{model.safetensors, state.safetensors,
// state.json} and the links `last` and `best`. A checkpoint is written beside
// and appears by one rename, so a kill at any moment leaves the old one whole.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/core/json.h"
#include "lockstep/model/module.h"
#include "lockstep/train/train_state.h"

namespace lockstep {

// Raised when a part changes its meaning.
constexpr int kCheckpointSchema = 1;

struct CheckpointTarget {
  std::filesystem::path folder;
  std::int64_t step = 0;
  // What must be the same to go on from it: the model's settings.
  Json identity;
  bool best = false;  // also the best so far
};

// Error{Fault::store} leaves every earlier checkpoint as it was.
void save_checkpoint(const CheckpointTarget& target, torch::nn::Module& module,
                     const TrainState& state);

bool has_checkpoint(const std::filesystem::path& folder);

// Loads `last`. Error{Fault::store} for one that is damaged, of another model
// or of another version.
void load_checkpoint(const std::filesystem::path& folder, const Json& identity,
                     torch::nn::Module& module, const TrainState& state);

}  // namespace lockstep
