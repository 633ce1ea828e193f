// SPDX-License-Identifier: Apache-2.0
// The lab's loop: every point of a study as child processes, repeated in
// interleaved order until its median is known, each end written to the ledger
// as it comes. Killed at any moment, it goes on where it was.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "lockstep/store/study_folder.h"

namespace lockstep {

constexpr int kMostSweepJobs = 1024;

struct SweepOrder {
  std::filesystem::path program = {};  // `program train …` is one run
  std::string command = {};            // as typed, for the ledger
  std::string hardware = {};           // for predictions; empty: the recipe's
  bool predict_missing = false;
  double max_minutes = 0;  // 0: to the end
  // Trainings that run side by side, none of them timed. What is timed runs
  // alone all the same.
  int jobs = 1;
  // Set by a signal: the runs at work are told, then the sweep ends.
  const std::atomic<int>* stop = nullptr;
};

enum class SweepEnd { finished, out_of_time, interrupted };

// Error{Fault::config} for a recipe that is no study, Error{Fault::store} when
// the folder cannot be written. A run's failure is a result, never an error.
SweepEnd sweep(StudyFolder& folder, const SweepOrder& order);

}  // namespace lockstep
