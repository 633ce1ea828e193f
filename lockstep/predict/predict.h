// SPDX-License-Identifier: Apache-2.0
// The answer to one question: step and epoch time, speed-up over one rank,
// where the time goes, a 90 % interval, the verdict and its cause.
#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/memory.h"
#include "lockstep/predict/question.h"
#include "lockstep/predict/timeline.h"
#include "lockstep/predict/verdict.h"
#include "lockstep/predict/workload.h"

namespace lockstep {

struct Range90 {
  double lo90 = 0, hi90 = 0;
};

struct Prediction {
  Question question;
  StepParts time;  // time.step_s is the predicted step
  Range90 step_s;
  double samples_per_s = 0;
  double epoch_s = 0;  // NaN: nobody said how many samples an epoch has
  double speedup = 1, efficiency = 1;
  Range90 speedup_90;
  MemoryFit memory;
  Verdict verdict = Verdict::scales;
  Cause cause = Cause::compute;
};

// How far the model itself is off where all its inputs are right: one standard
// deviation of ln(speed-up). A judgement until measured runs say better, so the
// 90 % of a what-if is nominal.
constexpr double kModelSpread = 0.06;

// Error{Fault::config} when the question cannot be asked of this cluster. One
// rank, which speed-ups are over, may do the work another way: `alone`.
Prediction predict(const Workload& work, const Cluster& cluster,
                   const Question& question, const Assumptions& assume = {},
                   const Workload* alone = nullptr);

// The defaults of Assumptions, with what the profile knows (jitter) and what
// was measured of the link that so many ranks cross (contention).
Assumptions assumptions_of(const Workload& work, const Cluster& cluster,
                           int ranks);

// What would change the verdict, found by asking again.
struct Flip {
  std::string what;  // batch, link_bytes_per_s, wire, accumulate
  double value = 0;
  Verdict becomes = Verdict::scales;
  std::string text;  // "from batch 96 a rank on"
};
std::vector<Flip> flips_of(const Workload& work, const Cluster& cluster,
                           const Prediction& prediction,
                           const Assumptions& assume = {},
                           const Workload* alone = nullptr);

}  // namespace lockstep
