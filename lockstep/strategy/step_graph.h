// SPDX-License-Identifier: Apache-2.0
// A step as pieces of work that a device runs one by one, or records once for
// each shape of its input and replays as a whole (train.graph). Steps whose
// pieces are timed replay piece by piece, so measuring goes on.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {

struct GraphPiece {
  Span span;
  std::function<void()> run;
};

// The pieces of a step on these inputs; they fill in the outcome, which
// outlives them. The same pieces may run many times.
using PieceMaker =
    std::function<std::vector<GraphPiece>(const StepInput&, StepOutcome&)>;

// Why steps of this run cannot be captured; empty when they can.
std::string cannot_capture(const StrategyContext& context);

class StepGraph {
 public:
  // Throws Error{Fault::config} when train.graph is on and cannot be.
  StepGraph(const StrategyContext& context, PieceMaker make);

  // A shape's first step runs as it is and warms libraries up; its second is
  // captured. What it returns holds until the next step.
  StepOutcome step(const StepInput& input);

  // A step that went another way.
  void count_plain_step() { ++eager_; }

  // For the run's record: steps replayed, steps run as they were and why.
  Json notes() const;

 private:
  // One shape of input, with the memory its graphs read.
  struct Shape {
    std::vector<std::int64_t> key;
    StepInput input;
    StepOutcome outcome, outcome_of_pieces;
    std::unique_ptr<Captured> whole;
    std::vector<std::unique_ptr<Captured>> pieces;
    bool warm = false;
  };

  Shape& shape_of(const StepInput& input);
  bool capture(Shape& shape, bool piecewise);
  void record(Shape& shape, bool piecewise);
  void replay(Shape& shape, bool piecewise);
  StepOutcome run(const StepInput& input);

  StrategyContext context_;
  PieceMaker make_;
  std::list<Shape> shapes_;  // the latest last
  std::string why_eager_;
  std::int64_t replayed_ = 0, eager_ = 0, captured_ = 0;
};

}  // namespace lockstep
