// SPDX-License-Identifier: Apache-2.0
// The information criterion: the batch size whose predictions reach a common
// amount of information about the labels fastest, R_B = I* / t_B(I*). Our own
// definition; steps and reasons: docs/batch-size.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/batch/envelope.h"
#include "lockstep/core/error.h"

namespace lockstep {

// All runs of one batch size; they differ in their seed.
struct BatchCandidate {
  double batch = 0;
  std::vector<Envelope> runs;  // information in nats against seconds
  // A size at which a run diverged is not chosen, however fast the others.
  bool diverged = false;
};

struct CriterionOptions {
  double label_entropy = 0;  // H(Y) in nats
  double delta = 0.02;       // target: (1 - delta) of the best final value
  std::optional<double> target_nats = {};  // instead of delta
  double guard_share = 0.005;              // of H(Y), see `discarded`
  double tie_share = 0.02;  // of the rate, where one run each gives no error
  // Of one final value over the draw of validation examples; 0: not known.
  double sampling_se = 0;
  Crossing crossing = Crossing::interpolated;
};

struct BatchOutcome {
  double batch = 0;
  std::size_t num_runs = 0;
  std::size_t num_reached = 0;  // of the runs, those that reach the target
  double rate = 0;  // nats a second, mean over runs; 0 for one that never does
  double rate_se = 0;            // over runs; NaN for one run
  std::optional<double> time_s;  // mean over the runs that reach it
  // The same for a final value one sampling error lower and higher.
  std::optional<double> early_s, late_s;
  double final_nats = 0;
  double final_se = 0;     // over runs, else the sampling error
  bool discarded = false;  // ends too far below the best, or diverged
};

struct InformationChoice {
  double target_nats = 0;
  std::vector<BatchOutcome> outcomes;  // in order of batch
  std::size_t fastest = 0;             // highest rate that passes the guard
  std::size_t chosen = 0;              // after ties
  std::vector<std::size_t> ties;       // as fast as `fastest`, itself included
};

// No batch size is ever at the target.
class TargetNotReached : public Error {
 public:
  explicit TargetNotReached(double target_nats);
};

// Error{Fault::config} for fewer than two batch sizes, Error{Fault::data} when
// none reaches the target or the target is 0. H(Y) = 0 (one class) is refused:
// nothing to learn.
InformationChoice choose_by_information(
    std::span<const BatchCandidate> candidates,
    const CriterionOptions& options);

// Smallest and largest batch that may be the fastest. Several runs each: 90 %
// of resamples of the runs. One run: whose time, one sampling error either way,
// overlaps the fastest's. `basis` says which, or that nothing is known.
struct ChoiceInterval {
  double low = 0, high = 0;
  std::string basis;
};
ChoiceInterval choice_interval(std::span<const BatchCandidate> candidates,
                               const CriterionOptions& options,
                               const InformationChoice& choice);

}  // namespace lockstep
