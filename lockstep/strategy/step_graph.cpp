// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/step_graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {
namespace {

// Graphs of so many shapes are kept: full batches, the short one at the end of
// an epoch, and some more for batches that grow.
constexpr std::size_t kMaxShapes = 6;

// What a captured step takes for granted. Batches that lie where the last ones
// lay are read in place, so their addresses belong to it.
std::vector<std::int64_t> key_of(const StepInput& input) {
  std::vector<std::int64_t> key{input.global_samples};
  for (const Batch& pass : input.passes) {
    key.push_back(pass.samples);
    for (const std::int64_t size : pass.inputs.sizes()) key.push_back(size);
    if (!pass.in_place) continue;
    for (const at::Tensor& t : {pass.inputs, pass.targets})
      key.push_back(reinterpret_cast<std::intptr_t>(t.const_data_ptr()));
  }
  return key;
}

Batch room_for(const Batch& batch) {
  if (batch.in_place) return batch;
  Batch room = batch;
  room.inputs = at::empty_like(batch.inputs);
  room.targets = at::empty_like(batch.targets);
  return room;
}

}  // namespace

std::string cannot_capture(const StrategyContext& context) {
  const RunConfig& config = context.config;
  if (config.train.graph == GraphUse::off) return "train.graph is off";
  if (config.optim.kind == OptimKind::lars ||
      config.optim.kind == OptimKind::lamb)
    return "lars and lamb are not captured";
  return context.device.cannot_capture();
}

StepGraph::StepGraph(const StrategyContext& context, PieceMaker make)
    : context_(context),
      make_(std::move(make)),
      why_eager_(cannot_capture(context)) {
  if (context.config.train.graph == GraphUse::on && !why_eager_.empty())
    throw Error(Fault::config, "train.graph", why_eager_,
                "train.graph=auto captures where it can");
}

StepOutcome StepGraph::step(const StepInput& input) {
  if (!why_eager_.empty()) return run(input);
  Shape& shape = shape_of(input);
  for (std::size_t i = 0; i < input.passes.size(); ++i) {
    if (input.passes[i].in_place) continue;
    shape.input.passes[i].inputs.copy_(input.passes[i].inputs);
    shape.input.passes[i].targets.copy_(input.passes[i].targets);
  }
  context_.recorder.cut(Span::copy);
  const bool piecewise = context_.recorder.timing();
  if (!std::exchange(shape.warm, true) || !capture(shape, piecewise))
    return run(shape.input);
  replay(shape, piecewise);
  return piecewise ? shape.outcome_of_pieces : shape.outcome;
}

StepGraph::Shape& StepGraph::shape_of(const StepInput& input) {
  const std::vector<std::int64_t> key = key_of(input);
  const auto known = std::ranges::find_if(
      shapes_, [&](const Shape& s) { return s.key == key; });
  if (known != shapes_.end()) {
    shapes_.splice(shapes_.end(), shapes_, known);
    return shapes_.back();
  }
  if (shapes_.size() == kMaxShapes) shapes_.pop_front();
  Shape& shape = shapes_.emplace_back();
  shape.key = key;
  shape.input = input;
  for (Batch& pass : shape.input.passes) pass = room_for(pass);
  return shape;
}

// False when it cannot be; then steps go on as they are, if that is allowed.
bool StepGraph::capture(Shape& shape, bool piecewise) {
  if (piecewise ? !shape.pieces.empty() : shape.whole != nullptr) return true;
  try {
    record(shape, piecewise);
    return true;
  } catch (const Error& error) {
    // What was recorded never ran, but the gradients' flags think it did.
    context_.params.zero_grads();
    shape.pieces.clear();
    if (context_.config.train.graph == GraphUse::on) throw;
    why_eager_ = error.what();
    return false;
  }
}

// What the pieces leave in `outcome` stays where it is: a replay fills it anew.
void StepGraph::record(Shape& shape, bool piecewise) {
  StepOutcome& outcome = piecewise ? shape.outcome_of_pieces : shape.outcome;
  outcome = {};
  const std::vector<GraphPiece> pieces = make_(shape.input, outcome);
  if (!piecewise) {
    shape.whole = context_.device.capture([&] {
      for (const GraphPiece& piece : pieces) piece.run();
    });
  } else {
    for (const GraphPiece& piece : pieces)
      shape.pieces.push_back(context_.device.capture(piece.run));
  }
  ++captured_;
}

void StepGraph::replay(Shape& shape, bool piecewise) {
  ++replayed_;
  if (!piecewise) return shape.whole->replay();
  StepOutcome unused;
  const std::vector<GraphPiece> pieces = make_(shape.input, unused);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    shape.pieces[i]->replay();
    context_.recorder.cut(pieces[i].span);
  }
}

StepOutcome StepGraph::run(const StepInput& input) {
  ++eager_;
  StepOutcome outcome;
  for (const GraphPiece& piece : make_(input, outcome)) {
    piece.run();
    context_.recorder.cut(piece.span);
  }
  return outcome;
}

Json StepGraph::notes() const {
  return {{"graphs_captured", captured_},
          {"steps_replayed", replayed_},
          {"steps_one_by_one", eager_},
          {"why_one_by_one", why_eager_}};
}

}  // namespace lockstep
