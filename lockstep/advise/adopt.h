// SPDX-License-Identifier: Apache-2.0
// Advice that a run takes: each number of ranks with what was measured for it
// on this machine, the choice among them, the settings it changes, and what
// the record keeps of it.
#pragma once

#include <span>

#include "lockstep/advise/advise.h"
#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"

namespace lockstep {

// Ranks of one machine share its cores, so each number of them has a profile
// of its own: that many ranks at work side by side, each with its share.
struct MeasuredRanks {
  Profile profile;
  Cluster cluster;  // devices_per_node ranks, the link between them measured
};

// Of the recipe's global batch, with a noise scale of its neighbours too. The
// time is that of the recipe's epochs or steps.
Advice advise_measured(std::span<const MeasuredRanks> measured,
                       const RunConfig& recipe, double noise_scale);

// Global batches that would be weighed.
std::vector<std::int64_t> batches_to_weigh(const RunConfig& recipe,
                                           double noise_scale);

// The recipe with ranks, strategy, global batch and learning rate as advised.
RunConfig adopt(RunConfig recipe, const Choice& choice);

// For record.json; `report` compares it with what was measured.
Json advice_json(const Advice& advice);

}  // namespace lockstep
