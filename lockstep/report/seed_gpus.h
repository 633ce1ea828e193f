// SPDX-License-Identifier: Apache-2.0
// Seed 000's own machine and software (4 x GTX 1080 Ti over PCIe, PyTorch's
// DataParallel), as the predictor sees them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/question.h"
#include "lockstep/predict/workload.h"

namespace lockstep {

// Clips in an epoch there.
constexpr std::int64_t kSeedClips = 2000;

class SeedGpus {
 public:
  SeedGpus();
  // Predicted seconds an epoch of a built-in model.
  double epoch_s(const std::string& model, std::int64_t ranks,
                 std::int64_t global_batch);

 private:
  Cluster cluster_;
  std::map<std::string, Workload> work_ = {};  // by model, estimated once
};

}  // namespace lockstep
