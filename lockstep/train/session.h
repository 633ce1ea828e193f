// SPDX-License-Identifier: Apache-2.0
// One rank's training under way: what it works with and how far it is. Plain
// data; trainer.cpp moves it forward, checkpoints save its position.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>

#include "lockstep/comm/group.h"
#include "lockstep/config/run_config.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/resident.h"
#include "lockstep/data/shard.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/strategy/strategy.h"
#include "lockstep/train/batch_state.h"
#include "lockstep/train/train_state.h"

namespace lockstep {

// The next sample to train on: `done` samples of `epoch` are behind us, in all
// ranks together.
struct Position {
  std::int64_t epoch = 0, step = 0, done = 0;
};

// An epoch's samples as this rank reads them, from a position on.
struct EpochOrder {
  std::int64_t epoch = 0, done = 0;
  StepSize size = {};
  Share share = {};
  at::Tensor on_device = {};  // of a resident set (data/resident.h)
};

// Sums over the epoch so far. Kept in a checkpoint, so that the row of an
// epoch is the same whether or not the run was cut off in it.
struct EpochTotals {
  double loss_sum = 0;
  std::int64_t correct = 0, predictions = 0, samples = 0;
  double seconds = 0, seconds_with_loading = 0;
  double busy_s = 0, timed_s = 0;  // of the steps whose pieces were timed
};

struct Session {
  const RunConfig& config;
  Device& device;
  Group& group;  // the ranks that are real; a strategy may emulate more
  Model& model;
  FlatParams& params;
  Optimizer& optimizer;
  Strategy& strategy;
  Recorder& recorder;
  const DataSplit& data;
  ResidentSets& resident;        // sets on the device, where they are kept
  RunFolder* folder;             // rank 0's; null elsewhere
  const std::atomic<int>& stop;  // a signal's number once one came

  BatchState batch = {};
  Position at = {};
  EpochTotals totals = {};
  // Made ahead, where that saves time.
  std::unique_ptr<EpochOrder> next_order = nullptr;
  double best_accuracy = -1;
  double lr = 0;                 // of the last step
  double elapsed_s = 0;          // training time before this process began
  std::int64_t until_epoch = 0;  // a trial's end; 0: the settings'
  std::vector<EpochSample>* rows = nullptr;  // where a trial's epochs go
  std::vector<at::Tensor> average = {};      // optim.lookahead_steps
  bool quiet = false;                        // a trial that nobody watches
  Json rehearsal = Json::object();           // what train.rehearse did
  double training_s = 0;  // of this process, evaluations and all
};

// Everything of the session that must survive a restart. `strategy`: what its
// save() gave, where it is for saving.
TrainState state_of(Session& session, const StrategyState& strategy);

// What a checkpoint must share with the run that goes on from it.
Json identity_of(const RunConfig& config);

}  // namespace lockstep
