// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/step_graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/comm/group.h"
#include "lockstep/config/capture.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

// Graphs of so many shapes are kept: full batches, the short one at the end of
// an epoch, and some more for batches that grow.
constexpr std::size_t kMaxShapes = 6;

// What a captured step takes for granted. Batches that lie where the last ones
// lay are read in place, so their addresses belong to it.
std::vector<std::int64_t> key_of(const StepInput& input) {
  std::vector<std::int64_t> key{input.global_samples, input.norms != nullptr};
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

// Weights in bf16 as kernels read them, where the settings ask for them: the
// last update moved them.
void refresh_half(const StrategyContext& context) {
  if (context.config.train.precision == Precision::bf16)
    context.params.cast_to_half();
}

// Adds the time it lives to a sum.
class Adds {
 public:
  explicit Adds(double& sum_s) : sum_s_(sum_s) {}
  ~Adds() { sum_s_ += now_s() - begin_s_; }
  Adds(const Adds&) = delete;
  Adds& operator=(const Adds&) = delete;

 private:
  double& sum_s_;
  double begin_s_ = now_s();
};

}  // namespace

std::vector<GraphPiece> pass_pieces(const StrategyContext& context,
                                    const StepInput& input,
                                    StepOutcome& outcome,
                                    const std::function<void()>& before_last) {
  std::vector<GraphPiece> out;
  for (const Batch& pass : input.passes) {
    if (pass.samples == 0) continue;
    const auto root = std::make_shared<PassRoot>();
    const bool last = std::ranges::none_of(
        std::span(&pass + 1, std::to_address(input.passes.end())),
        [](const Batch& later) { return later.samples > 0; });
    const std::int64_t global = input.global_samples;
    // Passes of one step have the same weights.
    const bool first = out.empty();
    out.push_back({Span::forward, [&, global, root, first] {
                     if (first) refresh_half(context);
                     *root = forward_pass(context, pass, global, outcome);
                   }});
    const bool compares = compares_passes(context, input);
    out.push_back({Span::backward, [&, root, last, before_last, compares] {
                     if (last && before_last) before_last();
                     root->backward();
                     *root = {};
                     if (compares) context.params.settle_grads();
                   }});
    if (compares)
      out.push_back({Span::backward,
                     [&, last] { note_pass(context, input, pass, !last); },
                     true});
  }
  return out;
}

std::string cannot_capture(const StrategyContext& context) {
  if (const std::string why =
          settings_against_capture(context.config, context.group.size());
      !why.empty())
    return why;
  if (const std::string why = context.device.cannot_capture(); !why.empty())
    return why;
  if (!context.group.lets_capture())
    return "ranks that are threads of one process share a device";
  return {};
}

StepGraph::StepGraph(const StrategyContext& context, PieceMaker make)
    : context_(context),
      make_(std::move(make)),
      why_eager_(cannot_capture(context)),
      captures_(why_eager_.empty()) {
  if (context.config.train.graph == GraphUse::on && !why_eager_.empty())
    throw Error(Fault::config, "train.graph", why_eager_,
                "train.graph=auto captures where it can");
}

StepOutcome StepGraph::step(const StepInput& input) {
  if (!why_eager_.empty()) return run(input);
  Shape& shape = shape_of(input);
  shape.input.norms = input.norms;
  for (std::size_t i = 0; i < input.passes.size(); ++i) {
    if (input.passes[i].in_place) continue;
    shape.input.passes[i].inputs.copy_(input.passes[i].inputs);
    shape.input.passes[i].targets.copy_(input.passes[i].targets);
  }
  context_.recorder.cut(Span::copy);
  const bool timed = context_.recorder.timing();
  if (!std::exchange(shape.warm, true)) {
    // What the device still has to run is no part of it.
    context_.device.synchronize();
    const Adds set_up(set_up_s_);
    return run(shape.input);
  }
  // Both kinds at once: no later step pays for the other's recording.
  if (!capture(shape, timed) ||
      (context_.recorder.times_some() && !capture(shape, !timed)))
    return run(shape.input);
  ++replayed_;
  const Recorded& recorded = timed ? shape.timed : shape.whole;
  for (const Work& part : recorded.parts) part();
  launches_ = recorded.launches, operations_ = recorded.operations;
  return recorded.outcome;
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
bool StepGraph::capture(Shape& shape, bool timed) {
  if (!(timed ? shape.timed : shape.whole).parts.empty()) return true;
  context_.device.synchronize();
  const Adds set_up(set_up_s_);
  try {
    record(shape, timed);
    return true;
  } catch (const Error& error) {
    // What was recorded never ran, but the gradients' flags think it did.
    context_.params.zero_grads();
    beside_ = {};
    (timed ? shape.timed : shape.whole) = {};
    if (context_.config.train.graph == GraphUse::on) throw;
    why_eager_ = error.what();
    return false;
  }
}

// What the pieces leave in `outcome` stays where it is: a replay fills it anew.
void StepGraph::record(Shape& shape, bool timed) {
  Recorded& to = timed ? shape.timed : shape.whole;
  to.outcome = {};
  const std::vector<GraphPiece> pieces = make_(shape.input, to.outcome);
  for (std::size_t i = 0, end; i < pieces.size(); i = end) {
    end = i + 1;
    if (pieces[i].by_host) {
      to.parts.push_back(pieces[i].run);
    } else {
      while (!timed && end < pieces.size() && !pieces[end].by_host) ++end;
      record_pieces(std::span(pieces).subspan(i, end - i), to);
    }
    if (timed)
      to.parts.push_back([&recorder = context_.recorder,
                          span = pieces[i].span] { recorder.cut(span); });
  }
  ++captured_;
}

void StepGraph::record_pieces(std::span<const GraphPiece> pieces,
                              Recorded& to) {
  std::vector<std::unique_ptr<Captured>> graphs;
  graphs = context_.device.capture([&](const Device::Cut& cut) {
    beside_ = {.cut = &cut};
    for (const GraphPiece& piece : pieces) piece.run();
  });
  const Beside beside = std::exchange(beside_, {});
  auto work = beside.work.begin();
  for (std::size_t i = 0; i <= graphs.size(); ++i) {
    for (; work != beside.work.end() && work->first == i; ++work)
      to.parts.push_back(work->second);
    if (i == graphs.size()) break;
    ++to.launches, to.operations += graphs[i]->operations();
    to.parts.push_back([graph = std::shared_ptr<Captured>(
                            std::move(graphs[i]))] { graph->replay(); });
  }
}

void StepGraph::beside(std::function<void()> work) {
  if (beside_.cut == nullptr) return work();
  if ((*beside_.cut)()) ++beside_.parts;
  beside_.work.emplace_back(beside_.parts, std::move(work));
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
  const auto known = [&](std::int64_t count) {
    return replayed_ > 0 ? Json(count) : Json(nullptr);
  };
  return {{"graphs_captured", captured_},
          {"steps_replayed", replayed_},
          {"steps_one_by_one", eager_},
          {"launches_a_step", known(launches_)},
          {"operations_a_step", known(operations_)},
          {"set_up_s", set_up_s_},
          {"why_one_by_one", why_eager_}};
}

}  // namespace lockstep
