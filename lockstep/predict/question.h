// SPDX-License-Identifier: Apache-2.0
// What is asked of the predictor: how to train on how many ranks with which
// batch. A value; grids are lists of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockstep/config/strategy.h"
#include "lockstep/plan/comm_plan.h"
#include "lockstep/predict/collective.h"
#include "lockstep/predict/software.h"

namespace lockstep {

// The strategies, and layers split over devices: priced beside them, not run.
enum class Method {
  single,
  data_parallel,
  ddp,
  sharded,
  local_sgd,
  model_parallel
};
std::string_view word(Method method);
Method method_of(const std::string& word);  // Error{Fault::config}
Method method_of(StrategyKind kind);

// weak: `batch` is of one rank and pass. strong: of all ranks and passes.
enum class Scaling { weak, strong };
std::string_view word(Scaling scaling);

struct Question {
  Method method = Method::ddp;
  StrategyConfig strategy = {};  // its kind is taken from `method`
  int ranks = 1;
  std::int64_t batch = 32;
  Scaling scaling = Scaling::weak;
  int accumulate = 1;              // model_parallel: micro-batches
  WireType wire = WireType::fp32;  // of gradients
  double compression = 1;          // share of a gradient's bytes that is sent
  Algorithm algorithm = Algorithm::automatic;
  Software software = {};
  double input_samples_per_s = 0;  // of one node; 0: as the profile says
  bool resident = false;           // the data lie on the device already
  std::int64_t epoch_samples = 0;  // 0: unknown

  // Samples of one step, all ranks.
  std::int64_t global_batch() const;
  // Samples of the fullest rank in one pass.
  std::int64_t rank_batch() const;
};

// Error{Fault::config} for numbers no run can have.
void validate(const Question& question);

}  // namespace lockstep
