// SPDX-License-Identifier: Apache-2.0
// A step as pieces of work that a device runs one by one, or records once for
// each shape of its input and replays (train.graph): as a whole, cut only where
// the host has something to do, such as sending a message. Steps whose pieces
// are timed replay piece by piece, so measuring goes on.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {

struct GraphPiece {
  Span span;
  std::function<void()> run;
  // The host's own: it runs each time, between what is recorded.
  bool by_host = false;
};

// The pieces of a step on these inputs; they fill in the outcome, which
// outlives them. The same pieces may run many times.
using PieceMaker =
    std::function<std::vector<GraphPiece>(const StepInput&, StepOutcome&)>;

// Forward and backward of each pass, and `before_last` right before the last
// backward. Those who call it may add pieces before and after. Norms of a step
// that measures its noise are the host's to take: each such step has its own.
std::vector<GraphPiece> pass_pieces(const StrategyContext& context,
                                    const StepInput& input,
                                    StepOutcome& outcome,
                                    const std::function<void()>& before_last);

// Why steps of this run cannot be captured; empty when they can.
std::string cannot_capture(const StrategyContext& context);

class StepGraph {
 public:
  // Throws Error{Fault::config} when train.graph is on and cannot be.
  StepGraph(const StrategyContext& context, PieceMaker make);

  // A shape's first step runs as it is and warms libraries up; its second is
  // captured. What it returns holds until the next step.
  StepOutcome step(const StepInput& input);

  // Called from within a piece: the host's own work. At once when the piece
  // runs; when it is recorded, each time a replay comes to this point.
  void beside(std::function<void()> work);

  // Whether steps were to be captured; they may have turned out not to be.
  bool captures() const { return captures_; }

  // A step that went another way.
  void count_plain_step() { ++eager_; }

  // For the run's record: steps replayed, steps run as they were and why, the
  // host's seconds in first steps and recordings, where libraries look for
  // their kernels, and what the latest replayed step handed to the device.
  Json notes() const;

 private:
  using Work = std::function<void()>;
  // A recorded step: graphs and what the host does between them.
  struct Recorded {
    StepOutcome outcome;
    std::vector<Work> parts;
    std::int64_t launches = 0, operations = 0;  // graphs, and what they hold
  };
  // One shape of input, with the memory its graphs read.
  struct Shape {
    std::vector<std::int64_t> key;
    StepInput input;
    Recorded whole, timed;
    bool warm = false;
  };
  // Work of the host that came up while a device recorded, after so many parts.
  struct Beside {
    const Device::Cut* cut = nullptr;
    std::size_t parts = 0;
    std::vector<std::pair<std::size_t, Work>> work = {};
  };

  Shape& shape_of(const StepInput& input);
  bool capture(Shape& shape, bool timed);
  void record(Shape& shape, bool timed);
  void record_pieces(std::span<const GraphPiece> pieces, Recorded& to);
  StepOutcome run(const StepInput& input);

  StrategyContext context_;
  PieceMaker make_;
  std::list<Shape> shapes_;  // the latest last
  std::string why_eager_;
  bool captures_;
  Beside beside_;
  std::int64_t replayed_ = 0, eager_ = 0, captured_ = 0;
  std::int64_t launches_ = 0, operations_ = 0;  // of the latest replayed step
  double set_up_s_ = 0;
};

}  // namespace lockstep
