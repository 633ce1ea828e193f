// SPDX-License-Identifier: Apache-2.0
// How replicas stay in lockstep. One class, one file, for each way of doing it.
// A strategy runs the whole step: forward, backward, messages and update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"
#include "lockstep/data/loader.h"
#include "lockstep/model/model.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

class Device;
class FlatParams;
class GradNorms;
class Group;
class Optimizer;
class Recorder;

struct StepInput {
  // This rank's samples, on its device. The last step of an epoch may leave a
  // rank without samples in a pass, or in all.
  std::vector<Batch> passes;
  std::int64_t global_samples = 0;  // of all ranks together
  double lr = 0;
  std::int64_t step = 0;  // of the run
  bool last = false;      // of the epoch or the run
  // Filled in by a step that measures its noise; null otherwise.
  GradNorms* norms = nullptr;
};

// Sums over this rank's samples, still on the device: reading them is the
// trainer's business, outside of the step. Undefined without samples.
struct StepOutcome {
  at::Tensor loss_sum;  // scalar, float
  at::Tensor correct;   // scalar, int64
};

struct StrategyState {
  std::vector<std::pair<std::string, at::Tensor>> tensors = {};
  Json values = Json::object();
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  // What each step will send, in the order it is sent; of local_sgd a step that
  // averages. Fixed once built.
  virtual const CommPlan& plan() const = 0;

  // Tells the optimiser which part of the update is this rank's. Call once,
  // before a checkpoint is loaded.
  virtual void share_out(Optimizer&) {}

  // Gives every rank the parameters of rank 0. Call once, before training.
  virtual void start() = 0;

  // Afterwards every rank holds the same updated parameters and the gradients
  // are zero.
  virtual StepOutcome step(const StepInput& input, Optimizer& optimizer) = 0;

  // Collective, before evaluation and checkpoints: every rank holds the
  // parameters and buffers that count, where step() alone does not see to it.
  virtual void sync() {}

  // What a checkpoint must hold of the strategy. save() is collective and
  // rank 0's answer counts; load() gets it on every rank, whose number may be
  // another one.
  virtual StrategyState save() { return {}; }
  virtual void load(const StrategyState&) {}

  // What it measured of itself, for the record's `comm`. After training; may
  // wait for the device.
  virtual Json account() const { return Json::object(); }

  // What the run's record says of how steps were run.
  virtual Json notes() const {
    return {{"why_one_by_one", "steps of this strategy are not captured"}};
  }
};

// Everything a strategy works with; all of it outlives the strategy.
struct StrategyContext {
  const RunConfig& config;
  Model& model;
  FlatParams& params;
  Device& device;
  Group& group;
  Recorder& recorder;
};

std::unique_ptr<Strategy> make_strategy(const StrategyContext& context);

}  // namespace lockstep
