// SPDX-License-Identifier: Apache-2.0
// Times the parts of each step of one rank. A step is cut into pieces as it
// goes; marks are cheap and become seconds later, in collect(), so nothing in
// a step waits for the device.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "lockstep/core/sample.h"
#include "lockstep/measure/time_source.h"

namespace lockstep {

// What a piece of a step was spent on. The last eight are data_parallel's.
enum class Span {
  data,
  copy,
  forward,
  backward,
  exposed_comm,  // waiting for messages; what none fills was for a late rank
  optim,
  wait,
  dp_scatter,
  dp_replicate,
  dp_forward,
  dp_gather,
  dp_loss,
  dp_loss_scatter,
  dp_backward,
  dp_reduce
};

struct RecorderOptions {
  bool record = true;
  // Pieces of every so many-th step only; 0: of each, where marks are in a
  // stream of every tenth.
  std::int64_t every = 1;
};

class Recorder {
 public:
  Recorder(std::int64_t rank, TimeSource source, RecorderOptions options);

  // Times in samples count from here, on now_s()'s clock.
  void set_origin(double seconds) { origin_s_ = seconds; }
  double origin() const { return origin_s_; }
  // 1 or more, whatever was asked for.
  std::int64_t every() const { return options_.every; }
  // Steps whose pieces are wanted and others both come.
  bool times_some() const { return options_.record && options_.every > 1; }

  void begin_step(std::int64_t step, std::int64_t epoch);
  // Everything since the last cut, or since begin_step(), went into `span`.
  void cut(Span span);
  void end_step(std::int64_t samples);
  // Whether the current step's pieces are wanted.
  bool timing() const { return !steps_.empty() && steps_.back().timed; }
  // A message of the current step; times on now_s()'s clock. `fill` puts them
  // in when they can be read, in collect().
  using Fill = std::function<void(CommSample&)>;
  void message(CommSample sample, Fill fill = {});

  struct Samples {
    std::vector<StepSample> steps;
    std::vector<CommSample> messages;
  };
  // What was recorded since the last call, with the losses of those steps in
  // order. May wait for the device.
  Samples collect(std::span<const double> losses);

 private:
  struct Piece {
    Span span;
    std::int64_t mark;
  };
  struct Step {
    StepSample sample;
    std::int64_t begin_mark = 0, end_mark = 0;
    std::size_t first_piece = 0, num_pieces = 0;
    bool timed = false;
  };
  using Intervals = std::vector<std::pair<double, double>>;
  StepSample resolve(const Step& step, const Intervals& messages) const;

  std::int64_t rank_;
  TimeSource source_;
  RecorderOptions options_;
  double origin_s_ = 0;
  std::vector<Step> steps_;
  std::vector<Piece> pieces_;
  std::vector<CommSample> messages_;
  std::vector<Fill> fills_;  // one a message
};

// Seconds covered by at least one of the intervals.
double union_s(std::vector<std::pair<double, double>> intervals);

}  // namespace lockstep
