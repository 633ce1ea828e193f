// SPDX-License-Identifier: Apache-2.0
// A system's own unknowns, fitted on a few epochs measured on it: loading, the
// link between device 0 and its replicas, and how one device's step grows with
// its share of the batch. Then other numbers of GPUs and batches follow.
// Derivation: docs/numbers.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lockstep/predict/verdict.h"

namespace lockstep {

struct EpochRun {
  std::string model;       // a name of the caller's choice
  double param_bytes = 0;  // fp32
  int gpus = 1;
  double batch = 1;  // global
  double epoch_s = 0;
};

// Seconds of a step on one device at measured shares of the batch, ascending.
struct StepCurve {
  std::vector<double> share, step_s;

  // Between shares straight in ln; above the largest in proportion; below the
  // smallest in the middle between shrinking as before and not at all.
  double at(double samples) const;
  // How far ln(at) may be off there, one standard deviation.
  double doubt(double samples) const;
};

struct SystemFit {
  double epoch_samples = 2000;
  double loading_s = 0;           // an epoch, not divided among GPUs
  double parallel_loading_s = 0;  // more, with two or more GPUs
  double exchange_s = 0;          // a step with two GPUs, before any byte
  double exchange_per_gpu_s = 0;  // for each GPU beyond the second
  double bytes_per_s = 1;         // parameters out, gradients back
  double crowding = 0;            // of the bytes' time, each GPU beyond two
  std::map<std::string, StepCurve> steps;  // by model, as the next two
  std::map<std::string, double> noise;     // of ln(epoch)
  std::map<std::string, std::vector<int>> measured_gpus;
};

// Throws Error{Fault::config} when nothing can be fitted.
SystemFit calibrate(std::span<const EpochRun> runs, double epoch_samples);

struct EpochForecast {
  double epoch_s = 0, low_s = 0, high_s = 0;  // with 90 % of the cases between
  double speedup = 1;  // over one GPU with the same global batch
  Verdict verdict = Verdict::scales;
  Cause cause = Cause::compute;
};
// The model must be among the fitted ones.
EpochForecast forecast(const SystemFit& system, const EpochRun& run);

}  // namespace lockstep
