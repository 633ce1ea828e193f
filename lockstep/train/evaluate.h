// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy on held-back data, shared out over the ranks.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lockstep/config/run_config.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/resident.h"
#include "lockstep/model/model.h"

namespace lockstep {

class Device;
class Group;

struct Evaluation {
  double loss = 0, accuracy = 0;
  // What predictions say about classes (batch/information.h): Miller-Madow
  // where there are examples enough, else Fano's bound. NaN for text.
  double information_nats = 0;
  std::int64_t samples = 0;
};

// What is evaluated on: the same set on the device where it is kept there.
struct HeldBack {
  const Dataset& data;
  Resident* resident = nullptr;
};

// Collective. The module is in evaluation mode meanwhile and in training mode
// afterwards.
Evaluation evaluate(const RunConfig& config, const Model& model,
                    const HeldBack& held, Device& device, Group& group);

// Rank 0 alone: a CSV row for each sample with its class and its softmax
// probabilities.
void write_probabilities(const std::filesystem::path& file,
                         const RunConfig& config, const Model& model,
                         const Dataset& data, Device& device);

}  // namespace lockstep
