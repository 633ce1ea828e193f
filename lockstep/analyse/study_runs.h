// SPDX-License-Identifier: Apache-2.0
// Runs, sorted into points: a point is one configuration, all its seeds and
// repeats together. Points that were only predicted stand among them and say
// so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyse/run_facts.h"

namespace lockstep {

// measured: its times count. emulated: one real rank, messages by a model.
// correctness: more ranks than devices, so its times say nothing.
// predicted: nothing ran. failed: it was tried (`why` says what happened).
enum class Origin { measured, emulated, correctness, predicted, failed };
std::string_view word(Origin origin);

struct StudyPoint {
  std::string model, strategy, device, hardware, arm;
  std::string route = {};  // of data_parallel; empty: not known
  Origin origin = Origin::measured;
  std::int64_t ranks = 1, per_rank = 0, global_batch = 0;
  bool batch_changes = false;  // as it trains: those are the first
  Estimate step = {};
  double epoch_s = 0, epoch_low_s = 0, epoch_high_s = 0;
  double samples_per_s = 0;
  StepPieces pieces = {};
  double imbalance = 0, bus_bytes_per_s = 0, peak_bus_bytes_per_s = 0;
  double peak_memory_bytes = 0, bytes_a_step = 0, best_val_accuracy = 0;
  std::vector<PayloadFlow> payloads = {};  // seconds: mean over its runs
  std::string why = {};
  std::vector<std::size_t> runs = {};  // positions in Study::runs

  bool drawn() const { return step.value > 0 && origin != Origin::correctness; }
};

struct Study {
  std::vector<std::string> paths;  // as given
  std::string title = {}, kind = {}, command = {};
  std::vector<RunFacts> runs = {};
  std::vector<StudyPoint> points = {};
  std::vector<std::string> notes = {};     // what the reader must know
  std::vector<std::string> machines = {};  // "host, device", each once
};

// Study folders (ledger.jsonl or runs/), run folders, or folders of run
// folders. What cannot be read is named in `notes`; Error{Fault::store} when a
// folder named is itself a run that cannot be read, or when nothing is left.
Study read_runs(std::span<const std::string> paths);

}  // namespace lockstep
