// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/layer_clock.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Node;

// A forward operation began that makes, or is part of, this node.
struct Cut {
  std::uint64_t node = 0;
  std::int64_t mark = 0;
};

struct CutList {
  const TimeSource* source = nullptr;
  std::vector<Cut> cuts = {};
};

// An observer of operations is a plain function: this is how it finds its list.
thread_local CutList* listening = nullptr;

std::unique_ptr<at::ObserverContext> on_operation(const at::RecordFunction& f) {
  if (listening == nullptr) return nullptr;
  // An operation that autograd sees makes the next node; one below it, or in a
  // function of our own, is part of the node that was made last.
  const std::uint64_t next = at::sequence_number::peek();
  const std::uint64_t node = f.seqNr() >= 0
                                 ? static_cast<std::uint64_t>(f.seqNr())
                                 : next - std::min<std::uint64_t>(next, 1);
  std::vector<Cut>& cuts = listening->cuts;
  if (cuts.empty() || cuts.back().node != node)
    cuts.push_back({node, listening->source->mark()});
  return nullptr;
}

// While it lives, operations of this thread are listed.
class Listen {
 public:
  explicit Listen(CutList& list)
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(on_operation)
                .scopes({at::RecordScope::FUNCTION}))) {
    listening = &list;
  }
  ~Listen() {
    listening = nullptr;
    at::removeCallback(handle_);
  }
  Listen(const Listen&) = delete;
  Listen& operator=(const Listen&) = delete;

 private:
  at::CallbackHandle handle_;
};

// A node of backward began.
struct Start {
  std::size_t layer = 0;
  std::int64_t mark = 0;
  std::optional<std::size_t> param = {};  // whose gradient it stores
};

struct MarkStart final : torch::autograd::FunctionPreHook {
  MarkStart(std::vector<Start>& to, const TimeSource& time, Start as)
      : starts(to), source(time), start(as) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& grads) override {
    Start now = start;
    now.mark = source.mark();
    starts.push_back(now);
    return grads;
  }
  std::vector<Start>& starts;
  const TimeSource& source;
  Start start;
};

struct Graph {
  std::vector<Node*> nodes;                          // of operations, as made
  std::vector<std::pair<Node*, std::size_t>> sinks;  // and their parameters
  std::unordered_map<Node*, std::size_t> layer;      // of those with parameters
};

using Places = std::unordered_map<c10::TensorImpl*, std::size_t>;

Graph graph_below(const at::Tensor& loss, const Places& places,
                  const std::vector<std::size_t>& layer_of) {
  Graph out;
  std::vector<Node*> todo = {loss.grad_fn().get()};
  std::unordered_set<Node*> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    out.nodes.push_back(node);
    for (const auto& edge : node->next_edges()) {
      Node* below = edge.function.get();
      if (below == nullptr) continue;
      const auto* sink = dynamic_cast<AccumulateGrad*>(below);
      const auto place =
          sink == nullptr ? places.end()
                          : places.find(sink->variable.unsafeGetTensorImpl());
      if (place != places.end()) out.layer[node] = layer_of[place->second];
      if (!seen.insert(below).second) continue;
      if (sink == nullptr)
        todo.push_back(below);
      else if (place != places.end())
        out.sinks.emplace_back(below, place->second);
    }
  }
  std::ranges::sort(out.nodes, {}, &Node::sequence_nr);
  return out;
}

// The layer of each node by its number; nodes without parameters follow the
// one before. From the number `loss_begins` on, and where another layer's
// weights are used once the last layer has begun, it is the loss: the number
// after the last layer's.
std::map<std::uint64_t, std::size_t> layers_by_number(
    const Graph& graph, std::size_t num_layers, std::uint64_t loss_begins) {
  std::map<std::uint64_t, std::size_t> out;
  std::size_t layer = 0;
  for (Node* node : graph.nodes)
    if (const auto found = graph.layer.find(node); found != graph.layer.end()) {
      layer = found->second;
      break;
    }
  for (Node* node : graph.nodes) {
    const auto found = graph.layer.find(node);
    const bool last_began = layer + 1 >= num_layers;
    if (found != graph.layer.end())
      layer = last_began && found->second != layer ? num_layers : found->second;
    if (node->sequence_nr() >= loss_begins) layer = num_layers;
    out[node->sequence_nr()] = layer;
  }
  return out;
}

// From each mark to the next one, added to the layer that began there.
template <class Mark, class LayerOf>
std::vector<double> spans(const std::vector<Mark>& marks, std::int64_t end,
                          const LayerOf& layer_of, std::size_t num_layers,
                          const TimeSource& source) {
  std::vector<double> out(num_layers, 0.0);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::int64_t next = i + 1 < marks.size() ? marks[i + 1].mark : end;
    out[layer_of(marks[i])] +=
        source.seconds(next) - source.seconds(marks[i].mark);
  }
  return out;
}

}  // namespace

LayerClock::LayerClock(std::vector<at::Tensor> params,
                       std::vector<std::size_t> layer_of,
                       std::size_t num_layers, TimeSource source)
    : params_(std::move(params)),
      layer_of_(std::move(layer_of)),
      num_layers_(num_layers),
      source_(std::move(source)) {
  check(params_.size() == layer_of_.size(), "every parameter has a layer");
}

LayerTimes LayerClock::pass(
    const std::function<at::Tensor()>& forward,
    const std::function<at::Tensor(const at::Tensor&)>& loss_of) const {
  CutList list{.source = &source_};
  at::Tensor output;
  {
    const Listen listen(list);
    output = forward();
  }
  const std::int64_t forward_end = source_.mark();
  const std::uint64_t loss_begins = at::sequence_number::peek();
  const at::Tensor loss = loss_of(output);
  const std::int64_t loss_end = source_.mark();

  Places places;
  for (std::size_t i = 0; i < params_.size(); ++i)
    places[params_[i].unsafeGetTensorImpl()] = i;
  const Graph graph = graph_below(loss, places, layer_of_);
  const auto layers = layers_by_number(graph, num_layers_, loss_begins);
  std::vector<Start> starts;
  for (Node* node : graph.nodes)
    node->add_pre_hook(std::make_unique<MarkStart>(
        starts, source_, Start{.layer = layers.at(node->sequence_nr())}));
  for (const auto& [node, param] : graph.sinks)
    node->add_pre_hook(std::make_unique<MarkStart>(
        starts, source_, Start{.layer = layer_of_[param], .param = param}));
  loss.backward();
  const std::int64_t backward_end = source_.mark();

  const auto layer_of_cut = [&](const Cut& cut) {
    // What makes no node belongs to the next one that does.
    const auto found = layers.lower_bound(cut.node);
    return found == layers.end() ? layers.rbegin()->second : found->second;
  };
  const auto layer_of_start = [](const Start& start) { return start.layer; };
  LayerTimes out{.forward_s = spans(list.cuts, forward_end, layer_of_cut,
                                    num_layers_ + 1, source_),
                 .backward_s = spans(starts, backward_end, layer_of_start,
                                     num_layers_ + 1, source_),
                 .gradient_order = {}};
  out.loss_forward_s = out.forward_s.back() + source_.seconds(loss_end) -
                       source_.seconds(forward_end);
  out.loss_backward_s = out.backward_s.back();
  out.forward_s.pop_back(), out.backward_s.pop_back();
  for (const Start& start : starts)
    if (start.param) out.gradient_order.push_back(*start.param);
  source_.forget();
  return out;
}

}  // namespace lockstep
