// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/core/units.h"
#include "lockstep/predict/floor.h"
#include "lockstep/predict/subject.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/claim_points.h"

namespace lockstep {
namespace {

double intensity_of(const RunFacts& run, double batch) {
  try {
    const Subject subject = find_subject(run.model);
    if (!subject.plan || subject.plan->param_count() != run.parameters)
      return std::nan("");
    return planned_intensity(
        *subject.plan, batch,
        run.precision == "bf16" ? Precision::bf16 : Precision::fp32);
  } catch (const Error&) {
    return std::nan("");  // no built-in model: nothing to plan with
  }
}

BatchReason reason_of(const Study& study, const StudyPoint& p) {
  const RunFacts& run = study.runs[p.runs[0]];
  const double batch = static_cast<double>(p.global_batch);
  BatchReason out{.model = p.model,
                  .arm = p.arm,
                  .hardware = p.hardware,
                  .device = p.device};
  out.batch = p.global_batch;
  out.epoch_s = p.epoch_s, out.step_s = p.step.value;
  out.compute_s = p.pieces.compute_s() / batch;
  out.copy_s = p.pieces.copy_s / batch;
  out.idle_s = std::max(0.0, p.step.value / batch - out.compute_s - out.copy_s);
  out.flops_per_byte = intensity_of(run, batch);
  out.flops_per_s = run.flops_a_sample / out.compute_s;
  out.launches = run.launches_a_step, out.operations = run.operations_a_step;
  return out;
}

// The smallest and the largest batch of the first model, if they differ.
struct Ends {
  BatchReason small, large;
  bool there = false;

  double saved_s() const { return small.sample_s() - large.sample_s(); }
};

Ends ends_of(const Study& study) {
  const std::vector<BatchReason> all = batch_reasons_of(study);
  if (all.empty()) return {};
  Ends out{.small = all.front(), .large = all.front()};
  for (const BatchReason& r : all)
    if (r.model == out.small.model && r.arm == out.small.arm &&
        r.hardware == out.small.hardware)
      out.large = r;
  out.there = out.large.batch > out.small.batch;
  return out;
}

std::string saved_said(const Ends& e) {
  return fmt::format("a sample takes {} at batch {} and {} at {}",
                     format_seconds(e.small.sample_s()), e.small.batch,
                     format_seconds(e.large.sample_s()), e.large.batch);
}

constexpr const char* kNeedsTwo =
    "needs two batch sizes measured on one device";

}  // namespace

std::vector<BatchReason> batch_reasons_of(const Study& study) {
  std::vector<BatchReason> out;
  if (study.kind != "hpml") return out;
  for (const StudyPoint* p : points_where(study, [](const StudyPoint& point) {
         return point.ranks == 1 && point.origin == Origin::measured &&
                !point.runs.empty() && point.pieces.compute_s() > 0;
       }))
    out.push_back(reason_of(study, *p));
  return out;
}

Table reasons_table(const std::vector<BatchReason>& reasons) {
  const auto us = [](const char* name, const char* title) {
    return Column{
        .name = name, .title = title, .unit = "(us)", .show = scaled(1e6, 2)};
  };
  Table table{.verb = "report",
              .columns = {{.name = "model"},
                          {.name = "arm"},
                          {.name = "batch"},
                          {.name = "epoch_s",
                           .title = "epoch",
                           .unit = "(s)",
                           .show = scaled(1, 3)},
                          us("sample_s", "a sample"),
                          us("compute_a_sample_s", "compute"),
                          us("copy_a_sample_s", "copies"),
                          us("idle_a_sample_s", "idle device"),
                          {.name = "flops_per_byte",
                           .title = "FLOP a byte, planned",
                           .show = scaled(1, 1)},
                          {.name = "flops_per_s",
                           .title = "reached",
                           .unit = "(TFLOP/s)",
                           .show = scaled(1e-12, 3)},
                          {.name = "launches_a_step",
                           .title = "launches a step",
                           .show = scaled(1, 0)},
                          {.name = "operations_a_step",
                           .title = "operations in them",
                           .show = scaled(1, 0)}}};
  for (const BatchReason& r : reasons)
    table.add({r.model, r.arm, r.batch, cell(r.epoch_s), cell(r.sample_s()),
               cell(r.compute_s), cell(r.copy_s), cell(r.idle_s),
               cell(r.flops_per_byte), cell(r.flops_per_s), cell(r.launches),
               cell(r.operations)});
  return table;
}

Claim nearer_to_compute(const Study& study) {
  const std::string source = "seed 004, Q1";
  const std::string claim =
      "a larger batch is faster because arithmetic intensity leans towards "
      "compute (kernels save more than half of the difference, and intensity "
      "grows by half as much as the FLOP/s reached or more)";
  const Ends e = ends_of(study);
  if (!e.there) return untested(source, claim, kNeedsTwo);
  if (!std::isfinite(e.small.flops_per_byte))
    return untested(source, claim, "no plan of this model's bytes");
  const double share = (e.small.compute_s - e.large.compute_s) / e.saved_s(),
               intensity = e.large.flops_per_byte / e.small.flops_per_byte,
               reached = e.large.flops_per_s / e.small.flops_per_s;
  return judged(
      source, claim,
      fmt::format("{}; {} of the difference is forward, backward and update. "
                  "Planned intensity grows from {:.1f} to {:.1f} FLOP a byte "
                  "({:.2f} times), what is reached from {:.3g} to {:.3g} "
                  "TFLOP/s ({:.2f} times)",
                  saved_said(e), format_percent(share), e.small.flops_per_byte,
                  e.large.flops_per_byte, intensity, e.small.flops_per_s / 1e12,
                  e.large.flops_per_s / 1e12, reached),
      e.saved_s() > 0 && share > 0.5 &&
          std::log(intensity) >= 0.5 * std::log(reached));
}

Claim fewer_trips(const Study& study) {
  const std::string source = "seed 004, Q1";
  const std::string claim =
      "fewer trips between CPU and GPU make it faster too (copies and waiting "
      "are more than a tenth of the difference)";
  const Ends e = ends_of(study);
  if (!e.there) return untested(source, claim, kNeedsTwo);
  if (e.small.device == "cpu")
    return untested(source, claim, "there is no GPU to travel to");
  const auto trips = [](const BatchReason& r) { return r.copy_s + r.idle_s; };
  const double share = (trips(e.small) - trips(e.large)) / e.saved_s();
  return judged(
      source, claim,
      fmt::format(
          "copies take {} of a sample's time at batch {} and {} at {}, "
          "an idle device {} and {}: {} of the difference",
          format_percent(e.small.copy_s / e.small.sample_s()), e.small.batch,
          format_percent(e.large.copy_s / e.large.sample_s()), e.large.batch,
          format_percent(e.small.idle_s / e.small.sample_s()),
          format_percent(e.large.idle_s / e.large.sample_s()),
          format_percent(share)),
      e.saved_s() > 0 && share > 0.1);
}

}  // namespace lockstep
