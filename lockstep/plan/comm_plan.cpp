// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/comm_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "lockstep/core/error.h"
#include "lockstep/plan/hook_plan.h"

namespace lockstep {
namespace {

constexpr std::int64_t kParamBytes = 4;  // parameters and gradients are fp32

std::int64_t bytes_in(const ParamList& params,
                      const std::vector<std::size_t>& bucket) {
  std::int64_t bytes = 0;
  for (const std::size_t i : bucket) bytes += params.numel[i] * kParamBytes;
  return bytes;
}

std::vector<std::size_t> all_of(const ParamList& params) {
  std::vector<std::size_t> all(params.numel.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// A message of nothing is not sent: a model without running statistics has no
// buffer message.
void add(CommPlan& out, Message message) {
  if (message.bytes > 0) out.push_back(std::move(message));
}

CommPlan buckets_like(const StrategyConfig& config, const ParamList& params,
                      Message like) {
  CommPlan out;
  for (std::vector<std::size_t>& bucket : buckets_of(config, params)) {
    like.bytes = bytes_in(params, bucket);
    like.params = std::move(bucket);
    add(out, like);
  }
  return out;
}

// What carries them under the hook: the first messages of all buckets, then
// what waits for those.
void add_hooked(CommPlan& out, const StrategyConfig& config,
                const ParamList& params, const StepShape& shape,
                const CommPlan& buckets) {
  CommPlan second;
  for (const Message& bucket : buckets) {
    CommPlan parts = plan_hook(config, params, bucket, shape.ranks);
    add(out, std::move(parts.front()));
    for (std::size_t i = 1; i < parts.size(); ++i)
      add(second, std::move(parts[i]));
  }
  for (Message& message : second) out.push_back(std::move(message));
}

void add_buffers(CommPlan& out, const ParamList& params) {
  add(out, {.op = Collective::broadcast,
            .payload = Payload::buffers,
            .bytes = params.buffer_bytes,
            .phase = Phase::before_forward});
}

CommPlan plan_ddp(const StrategyConfig& config, const ParamList& params,
                  const StepShape& shape) {
  CommPlan out;
  add_buffers(out, params);
  // Gradients travel once, in the last pass: those before it only add up.
  add_hooked(out, config, params, shape,
             buckets_like(
                 config, params,
                 {.op = Collective::all_reduce, .pass = shape.accumulate - 1}));
  return out;
}

CommPlan plan_sharded(const StrategyConfig& config, const ParamList& params,
                      const StepShape& shape) {
  const std::int64_t last = shape.accumulate - 1;
  CommPlan out;
  add_buffers(out, params);
  add_hooked(out, config, params, shape,
             buckets_like(config, params,
                          {.op = Collective::reduce_scatter, .pass = last}));
  for (Message& bucket : buckets_like(config, params,
                                      {.op = Collective::all_gather,
                                      .payload = Payload::parameters,
                                      .phase = Phase::after_update,
                                      .pass = last}))
    out.push_back(std::move(bucket));
  return out;
}

// Whole parameters in one message; under a hook their changes, in buckets.
CommPlan plan_local_sgd(const StrategyConfig& config, const ParamList& params,
                        const StepShape& shape) {
  if (shape.step < config.local_start) return plan_ddp(config, params, shape);
  const std::int64_t done = shape.step - config.local_start + 1;
  CommPlan out;
  if (done % config.local_steps != 0 && !shape.last) return out;
  const std::int64_t last = shape.accumulate - 1;
  Message mean{.op = Collective::all_reduce,
               .payload = Payload::parameters,
               .phase = Phase::after_update,
               .pass = last};
  if (config.hook == HookKind::none) {
    mean.bytes = params.bytes(), mean.params = all_of(params);
    add(out, mean);
  } else {
    add_hooked(out, config, params, shape, buckets_like(config, params, mean));
  }
  add(out, {.op = Collective::all_reduce,
            .payload = Payload::buffers,
            .bytes = params.buffer_bytes,
            .phase = Phase::after_update,
            .pass = last});
  return out;
}

// One pass of the eight steps. Labels stay with the root, which computes the
// loss; what scatter brings back for backward are the outputs' gradients.
void add_pass(CommPlan& out, const StrategyConfig& config,
              const ParamList& params, const StepShape& shape,
              std::int64_t pass) {
  const std::int64_t samples = share_of(shape.samples, shape.accumulate, pass);
  if (samples == 0 && shape.samples > 0) return;  // fewer samples than passes
  Message share{.pass = pass, .route = Route::star};
  Message model{.pass = pass, .route = config.collective};
  const auto send = [&](Message& like, Collective op, Payload payload,
                        Phase phase, std::int64_t bytes) {
    like.op = op, like.payload = payload, like.phase = phase;
    like.bytes = bytes;
    add(out, like);
  };
  send(share, Collective::scatter, Payload::inputs, Phase::before_forward,
       samples * shape.input_bytes);
  send(model, Collective::broadcast, Payload::buffers, Phase::before_forward,
       params.buffer_bytes);
  model.params = all_of(params);
  send(model, Collective::broadcast, Payload::parameters, Phase::before_forward,
       params.bytes());
  send(share, Collective::gather, Payload::outputs, Phase::after_forward,
       samples * shape.output_bytes);
  send(share, Collective::scatter, Payload::outputs, Phase::after_forward,
       samples * shape.output_bytes);
  model.op = Collective::reduce, model.payload = Payload::gradients;
  model.phase = Phase::after_backward, model.bytes = params.bytes();
  add_hooked(out, config, params, shape, {model});
}

CommPlan plan_data_parallel(const StrategyConfig& config,
                            const ParamList& params, const StepShape& shape) {
  CommPlan out;
  for (std::int64_t pass = 0; pass < shape.accumulate; ++pass)
    add_pass(out, config, params, shape, pass);
  return out;
}

// In backward the last layer comes first.
void add_norms(CommPlan& out, const ParamList& params, const StepShape& shape) {
  const std::vector<std::int64_t>& channels = params.norm_channels;
  for (std::int64_t pass = 0; pass < shape.accumulate; ++pass) {
    for (const std::int64_t c : channels) {
      out.push_back(norm_forward(c, shape.ranks));
      out.back().pass = pass;
    }
    for (std::size_t i = channels.size(); i-- > 0;) {
      out.push_back(norm_backward(channels[i]));
      out.back().pass = pass;
    }
  }
}

CommPlan plan_kind(const StrategyConfig& config, const ParamList& params,
                   const StepShape& shape) {
  switch (config.kind) {
    case StrategyKind::automatic:
      break;
    case StrategyKind::single:
      return {};
    case StrategyKind::data_parallel:
      return plan_data_parallel(config, params, shape);
    case StrategyKind::ddp:
      return plan_ddp(config, params, shape);
    case StrategyKind::sharded:
      return plan_sharded(config, params, shape);
    case StrategyKind::local_sgd:
      return plan_local_sgd(config, params, shape);
  }
  check(false, "every strategy has a plan");
  return {};
}

}  // namespace

std::int64_t ParamList::bytes() const {
  return std::accumulate(numel.begin(), numel.end(), std::int64_t{0}) *
         kParamBytes;
}

ParamList param_list(const WorkPlan& work) {
  ParamList out;
  for (const ParamInfo& p : work.params) {
    out.numel.push_back(p.numel);
    out.rows.push_back(p.shape.size() > 1 ? p.shape.front() : 1);
  }
  for (const LayerWork& layer : work.layers) {
    out.buffer_bytes += layer.buffer_numel * kParamBytes;
    if (layer.type == "BatchNorm2d")
      out.norm_channels.push_back(layer.buffer_numel / 2);
  }
  return out;
}

std::int64_t share_of(std::int64_t total, std::int64_t parts,
                      std::int64_t index) {
  check(total >= 0 && parts > 0 && index >= 0 && index < parts,
        "a share is a part of a whole");
  return total / parts + (index < total % parts ? 1 : 0);
}

std::int64_t share_begin(std::int64_t total, std::int64_t parts,
                         std::int64_t index) {
  check(total >= 0 && parts > 0 && index >= 0 && index <= parts,
        "a share begins within the whole, or at its end");
  return total / parts * index + std::min(index, total % parts);
}

std::vector<std::vector<std::size_t>> buckets_of(const StrategyConfig& config,
                                                 const ParamList& params) {
  std::vector<std::vector<std::size_t>> out;
  std::int64_t limit = config.first_bucket_bytes, bytes = 0;
  bool open = false;
  for (std::size_t i = params.numel.size(); i-- > 0;) {
    if (!open) out.emplace_back();
    out.back().push_back(i);
    bytes += params.numel[i] * kParamBytes;
    open = bytes < limit;
    if (!open) limit = config.bucket_bytes, bytes = 0;
  }
  return out;
}

CommPlan plan(const StrategyConfig& asked, const ParamList& params,
              const StepShape& shape) {
  check(shape.ranks > 0 && shape.accumulate > 0, "a step has ranks and passes");
  StrategyConfig config = asked;
  config.kind = resolved(asked.kind, shape.ranks);
  const bool norms =
      config.sync_batchnorm && config.kind != StrategyKind::single;
  CommPlan out;
  if (norms) add_norms(out, params, shape);
  for (Message& message : plan_kind(config, params, shape))
    out.push_back(std::move(message));
  std::ranges::stable_sort(
      out, {}, [](const Message& m) { return std::tuple(m.pass, m.phase); });
  return out;
}

std::int64_t bytes_of(const CommPlan& plan) {
  std::int64_t bytes = 0;
  for (const Message& message : plan) bytes += message.bytes;
  return bytes;
}

}  // namespace lockstep
