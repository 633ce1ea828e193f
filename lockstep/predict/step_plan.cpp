// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/step_plan.h"

#include <algorithm>

namespace lockstep {
namespace {

// Vectors that local_sgd reads and writes for an average: a division; of the
// changes under a hook (strategy/changes.cpp) a difference, a division, a sum,
// a copy and zeros.
constexpr double kMeanPasses = 2, kChangesPasses = 11;

StrategyConfig strategy_of(const Question& q) {
  StrategyConfig config = q.strategy;
  switch (q.method) {
    case Method::single:
    case Method::model_parallel:
      config.kind = StrategyKind::single;
      break;
    case Method::data_parallel:
      config.kind = StrategyKind::data_parallel;
      break;
    case Method::ddp:
      config.kind = StrategyKind::ddp;
      break;
    case Method::sharded:
      config.kind = StrategyKind::sharded;
      break;
    case Method::local_sgd:
      config.kind = StrategyKind::local_sgd;
      break;
  }
  return config;
}

// local_sgd: the step that averages stands for all of them.
StepShape shape_of(const Workload& work, const Question& q) {
  const bool local = q.method == Method::local_sgd;
  return {
      .ranks = q.ranks,
      .samples = q.global_batch(),
      .accumulate = q.accumulate,
      .step = local ? q.strategy.local_start + q.strategy.local_steps - 1 : 0,
      .last = false,
      .input_bytes = static_cast<std::int64_t>(work.profile.input_bytes),
      .output_bytes = static_cast<std::int64_t>(work.profile.output_bytes)};
}

Algorithm algorithm_of(const Question& q, const Message& m) {
  if (q.method != Method::data_parallel) return q.algorithm;
  switch (m.route) {
    case Route::star:
      return Algorithm::star;
    case Route::ring:
      return Algorithm::ring;
    case Route::tree:
      return Algorithm::tree;
  }
  return Algorithm::star;
}

// Gradients can be made smaller, and what local_sgd averages.
double sent_bytes(const Question& q, const Message& m) {
  const auto bytes = static_cast<double>(m.bytes);
  const bool smaller =
      m.payload == Payload::gradients ||
      (m.payload == Payload::parameters && q.method == Method::local_sgd);
  if (!smaller || m.type != WireType::fp32) return bytes;
  return bytes * q.compression * static_cast<double>(bytes_of(q.wire)) /
         kGradientBytes;
}

TimedMessage price(const Fabric& fabric, const Question& q, const Message& m,
                   const std::vector<double>& ready_s) {
  TimedMessage out;
  if (fabric.ranks > 1) {
    const CollectiveCost cost =
        collective_cost(fabric, m.op, sent_bytes(q, m), algorithm_of(q, m));
    out.latency_s = cost.latency_s + q.software.message_s;
    out.transfer_s = cost.transfer_s;
  }
  for (const std::size_t i : m.params)
    out.ready_s = std::max(out.ready_s, ready_s[i]);
  return out;
}

// How often a step sends what it sends of the whole model.
double sends_a_step(const Question& q) {
  if (q.method == Method::local_sgd)
    return 1.0 / static_cast<double>(q.strategy.local_steps);
  return q.method == Method::data_parallel ? q.accumulate : 1;
}

void add_messages(StepPlan& out, const Fabric& fabric, const Question& q,
                  const CommPlan& plan, const std::vector<double>& ready_s) {
  const double share = q.method == Method::local_sgd ? sends_a_step(q) : 1;
  for (const Message& m : plan) {
    const TimedMessage timed = price(fabric, q, m, ready_s);
    // Statistics of BatchNorm hold up the backward pass that asks for them.
    if (m.phase == Phase::backward && m.payload == Payload::gradients) {
      out.overlapped.push_back(timed);
      continue;
    }
    out.serial_latency_s += share * timed.latency_s;
    out.serial_transfer_s += share * timed.transfer_s;
  }
}

// What messages make a device read and write in its own memory, counted in
// passes over a vector as long as the parameters.
double copy_s(const Workload& work, const Cluster& cluster, const Question& q) {
  if (q.ranks == 1) return 0;
  const HookKind hook = q.strategy.hook;
  const double sends = sends_a_step(q);
  // Copies into and out of buckets, and casts of compressed gradients.
  const bool packed =
      q.wire != WireType::fp32 || q.compression < 1 || hook != HookKind::none;
  double passes = 2 * (q.software.bucket_copies + (packed ? 2 * sends : 0));
  // A CPU reads a line before it writes it: the copy that bandwidth was
  // measured with moves three vectors for the two it counts, work in place does
  // not.
  const double in_place = cluster.device.gpu ? 1 : 2.0 / 3;
  // A mean is a sum of parameters that were divided first.
  if (q.method == Method::local_sgd)
    passes += in_place * sends *
              (hook == HookKind::none ? kMeanPasses : kChangesPasses);
  // The root adds what each replica sent to its own gradients, unless a hook
  // sends entries or factors.
  if (q.method == Method::data_parallel &&
      q.strategy.collective == Route::star && hook != HookKind::topk &&
      hook != HookKind::powersgd)
    passes += in_place * sends * 3 * (q.ranks - 1);
  return passes * static_cast<double>(work.params.bytes()) /
         cluster.device.memory_bytes_per_s;
}

// What loading a step's samples takes of the slower of loader and host link.
double input_s(const Workload& work, const Cluster& cluster,
               const Question& q) {
  if (q.resident && q.input_samples_per_s <= 0) return 0;
  const double rate = q.input_samples_per_s > 0
                          ? q.input_samples_per_s
                          : work.profile.input_samples_per_s;
  const double mine = static_cast<double>(q.rank_batch() * q.accumulate);
  const double node = q.method == Method::model_parallel
                          ? mine
                          : mine * cluster.ranks_per_node(q.ranks);
  const double loader = rate > 0 ? node / rate : 0;
  const double host = cluster.device.host_bytes_per_s;
  const double copy = host > 0 ? mine * work.profile.input_bytes / host : 0;
  return std::max(loader, copy);
}

}  // namespace

StepPlan plan_step(const Workload& work, const Cluster& cluster,
                   const Fabric& fabric, const Question& q) {
  if (q.method == Method::model_parallel && q.ranks > 1)
    return plan_pipeline(work, cluster, fabric, q);
  const auto batch = static_cast<double>(q.rank_batch());
  const PassTime pass = pass_at(work, batch);
  StepPlan out{.ranks = q.ranks,
               .passes = q.accumulate,
               .forward_s = pass.forward_s,
               .backward_s = pass.backward_s,
               .optimizer_s = work.optimizer_s(),
               .overhead_s = overhead_at(work, batch),
               .input_s = input_s(work, cluster, q)};
  if (q.method == Method::sharded) out.optimizer_s /= q.ranks;
  // Device 0 alone updates.
  if (q.method == Method::data_parallel && q.ranks > 1)
    out.optimizer_s =
        work.profile.optimizer_alone_s.value_or(work.optimizer_s());
  if (q.method == Method::local_sgd)
    out.sync_every = static_cast<double>(q.strategy.local_steps);
  const double replicas =
      q.method == Method::data_parallel && q.software.replicas_share_host
          ? q.ranks
          : 1;
  const double host_s = replicas * 2 * q.software.layer_s *
                        static_cast<double>(work.profile.layers.size());
  const double pass_s = pass.forward_s + pass.backward_s;
  if (replicas > 1 && host_s > pass_s) {
    out.forward_s *= host_s / pass_s;
    out.backward_s *= host_s / pass_s;
  }
  out.optimizer_s += copy_s(work, cluster, q);
  if (q.ranks > 1)
    add_messages(out, fabric, q,
                 plan(strategy_of(q), work.params, shape_of(work, q)),
                 pass.ready_s);
  return out;
}

}  // namespace lockstep
