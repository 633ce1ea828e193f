// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/predict.h"

#include <algorithm>
#include <cmath>

#include "lockstep/predict/interval.h"
#include "lockstep/predict/step_plan.h"

namespace lockstep {
namespace {

// The same work on one rank: the batch of one rank (weak) or all of it.
Question on_one_rank(Question q) {
  const bool pipeline = q.method == Method::model_parallel;
  if (q.scaling == Scaling::weak && pipeline) q.batch *= q.accumulate;
  if (pipeline) q.accumulate = 1;
  q.ranks = 1;
  q.method = Method::single;
  return q;
}

double samples_per_s(const Question& q, double step_s) {
  return static_cast<double>(q.global_batch()) / step_s;
}

// Half of twice the batch takes nearly as long as the batch: launches, not
// arithmetic, decide.
bool launch_bound(const Workload& work, double batch) {
  const PassTime once = pass_at(work, batch), twice = pass_at(work, 2 * batch);
  return twice.forward_s + twice.backward_s <
         1.3 * (once.forward_s + once.backward_s);
}

Losses losses_of(const Workload& work, const Prediction& p,
                 const StepParts& one, double share) {
  const StepParts& t = p.time;
  Losses out{.communication_s = t.exposed_comm_s - t.latency_s,
             .latency_s = t.latency_s,
             .input_s = t.input_wait_s - share * one.input_wait_s,
             .imbalance_s = t.idle_s - share * one.idle_s};
  const double slower = t.compute_s - share * one.compute_s;
  const auto batch = static_cast<double>(p.question.rank_batch());
  (launch_bound(work, batch) ? out.latency_s : out.compute_s) += slower;
  return out;
}

}  // namespace

Assumptions assumptions_of(const Workload& work, const Cluster& cluster,
                           int ranks) {
  Assumptions a;
  const std::optional<Link>& link =
      cluster.nodes_of(ranks) > 1 ? cluster.between : cluster.inside;
  if (link && link->contention) a.contention = *link->contention;
  if (work.profile.jitter > 0) a.jitter = work.profile.jitter;
  return a;
}

Prediction predict(const Workload& work, const Cluster& cluster,
                   const Question& question, const Assumptions& assume,
                   const Workload* alone) {
  validate(question);
  const Question base = on_one_rank(question);
  const Fabric fabric = fabric_of(cluster, question.ranks);
  const StepPlan many = plan_step(work, cluster, fabric, question);
  const StepPlan single =
      question.ranks == 1
          ? many
          : plan_step(alone ? *alone : work, cluster, Fabric{}, base);
  Prediction out;
  out.question = question;
  out.time = simulate(many, assume);
  const StepParts one = simulate(single, assume);
  out.samples_per_s = samples_per_s(question, out.time.step_s);
  const double work_ratio = static_cast<double>(question.global_batch()) /
                            static_cast<double>(base.global_batch());
  out.speedup = work_ratio * one.step_s / out.time.step_s;
  out.efficiency = out.speedup / question.ranks;
  const Spread spread = spread_of(many, single, spreads(work, fabric), assume);
  out.step_s = around(out.time.step_s, spread.step);
  out.speedup_90 = around(out.speedup, spread.speedup);
  // No interval promises more than perfect scaling, unless its middle does.
  out.speedup_90.hi90 = std::min(out.speedup_90.hi90,
                                 std::max<double>(question.ranks, out.speedup));
  out.epoch_s = question.epoch_samples > 0
                    ? std::ceil(double(question.epoch_samples) /
                                double(question.global_batch())) *
                          out.time.step_s
                    : std::nan("");
  out.memory = memory_fit(work, cluster, question);
  out.verdict = verdict_of(out.speedup, question.ranks);
  out.cause = cause_of(losses_of(work, out, one, work_ratio / question.ranks),
                       out.time.step_s);
  if (!out.memory.fits()) {
    out.verdict = Verdict::chokes;  // it does not run at all
    out.cause = Cause::memory;
  }
  return out;
}

}  // namespace lockstep
