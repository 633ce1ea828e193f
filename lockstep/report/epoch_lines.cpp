// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/epoch_lines.h"

#include <cmath>
#include <map>

#include "lockstep/plan/comm_plan.h"
#include "lockstep/predict/subject.h"
#include "lockstep/report/seed_figures.h"
#include "lockstep/report/seed_gpus.h"

namespace lockstep {
namespace {

constexpr std::size_t kLeastBatches = 3;  // a line and how far it misses

// What the plan of a step sends over the busiest link.
double planned_link_bytes(const std::string& model, const std::string& strategy,
                          std::int64_t ranks, std::int64_t batch) {
  const WorkPlan work = find_subject(model).plan.value();
  const StrategyConfig config{.kind = strategy == "data_parallel"
                                          ? StrategyKind::data_parallel
                                          : StrategyKind::ddp};
  StepShape shape{.ranks = ranks, .samples = batch};
  shape.input_bytes = 4 * numel(work.input);
  shape.output_bytes = 4 * numel(work.layers.back().output);
  double bytes = 0;
  for (const Message& m : plan(config, param_list(work), shape))
    bytes += bus_factor(m.op, ranks) * static_cast<double>(m.bytes);
  return bytes;
}

// One time as the lines need it.
struct Timed {
  std::int64_t batch = 0;
  double epoch_s = 0, steps = 0, link_bytes = 0;            // bytes a step
  double alone_s = std::nan(""), exposed_s = std::nan("");  // an epoch's
};

double inverse(const Timed& t) { return 1 / static_cast<double>(t.batch); }
double bytes_an_epoch(const Timed& t) { return t.link_bytes * t.steps; }

template <class X, class Y>
Line line_of(const std::vector<Timed>& times, const X& x, const Y& y) {
  std::vector<double> xs, ys;
  for (const Timed& t : times) xs.push_back(x(t)), ys.push_back(y(t));
  return fit_line(xs, ys);
}

void fit(EpochLine& line, std::vector<Timed> times) {
  const auto epoch = [](const Timed& t) { return t.epoch_s; };
  for (const Timed& t : times) {
    line.batches.push_back(t.batch), line.epoch_s.push_back(t.epoch_s);
    if (line.ranks > 1) line.link_bytes.push_back(bytes_an_epoch(t));
    if (line.ranks > 1) line.alone_s.push_back(t.alone_s);
  }
  line.by_inverse_batch = line_of(times, inverse, epoch);
  std::erase_if(times, [](const Timed& t) { return std::isnan(t.alone_s); });
  if (line.ranks < 2 || times.size() < kLeastBatches) return;
  line.by_bytes = line_of(times, bytes_an_epoch, epoch);
  line.alone_by_bytes =
      line_of(times, bytes_an_epoch, [](const Timed& t) { return t.alone_s; });
  const Line exposed = line_of(times, bytes_an_epoch,
                               [](const Timed& t) { return t.exposed_s; });
  if (std::isfinite(exposed.slope)) line.exposed_by_bytes = exposed;
}

double samples_of(const Study& study, const StudyPoint& p) {
  if (!p.runs.empty())
    return static_cast<double>(study.runs[p.runs[0]].samples_per_epoch);
  return static_cast<double>(
      study.runs.empty() ? kSeedClips : study.runs[0].samples_per_epoch);
}

Timed timed(const Study& study, const StudyPoint& p, const ClaimPoints& one) {
  Timed t{.batch = p.global_batch, .epoch_s = p.epoch_s};
  t.steps = std::ceil(samples_of(study, p) / double(p.global_batch));
  if (p.ranks == 1) return t;
  for (const PayloadFlow& flow : p.payloads) t.link_bytes += flow.bus_bytes;
  if (!(t.link_bytes > 0))
    t.link_bytes =
        planned_link_bytes(p.model, p.strategy, p.ranks, p.global_batch);
  if (const StudyPoint* alone = at(one, 1, p.global_batch))
    t.alone_s = alone->epoch_s;
  if (p.origin == Origin::measured)
    t.exposed_s = p.pieces.exposed_comm_s * t.steps;
  return t;
}

// Measured times of one device, or predicted ones where there are no others.
ClaimPoints alone_of(const ClaimPoints& all) {
  ClaimPoints measured, any;
  for (const StudyPoint* p : all) {
    if (p->ranks != 1) continue;
    any.push_back(p);
    if (p->origin == Origin::measured) measured.push_back(p);
  }
  return measured.empty() ? any : measured;
}

void add_ours(std::vector<EpochLine>& out, const Study& study,
              const std::string& model) {
  const auto of_model = [&](const StudyPoint& p) {
    return p.model == model && p.epoch_s > 0 && !p.batch_changes;
  };
  const ClaimPoints all = points_where(study, of_model), one = alone_of(all);
  using Key = std::tuple<std::string, std::string, std::int64_t, Origin>;
  std::map<Key, std::vector<Timed>> groups;
  for (const StudyPoint* p : all)
    if (p->ranks == 1 || p->strategy == "data_parallel" || p->strategy == "ddp")
      groups[{p->strategy, p->arm, p->ranks, p->origin}].push_back(
          timed(study, *p, one));
  for (auto& [key, times] : groups) {
    if (times.size() < kLeastBatches) continue;
    EpochLine line{.here = true, .model = model, .strategy = std::get<0>(key)};
    line.arm = std::get<1>(key), line.ranks = std::get<2>(key);
    line.origin = std::get<3>(key);
    fit(line, std::move(times));
    out.push_back(std::move(line));
  }
}

void add_seeds(std::vector<EpochLine>& out, const std::string& model) {
  std::map<std::int64_t, std::vector<Timed>> groups;
  std::map<std::int64_t, double> alone;
  for (const SeedFigure& f : seed_figures("stevens")) {
    if (f.model != model) continue;
    if (f.ranks == 1) alone[f.global_batch] = f.value;
    Timed t{.batch = f.global_batch, .epoch_s = f.value};
    t.steps = std::ceil(double(kSeedClips) / double(f.global_batch));
    if (f.ranks > 1)
      t.link_bytes =
          planned_link_bytes(model, "data_parallel", f.ranks, f.global_batch);
    groups[f.ranks].push_back(t);
  }
  for (auto& [ranks, times] : groups) {
    EpochLine line{.here = false,
                   .model = model,
                   .strategy = ranks > 1 ? "data_parallel" : "single"};
    line.ranks = ranks;
    for (Timed& t : times)
      if (alone.contains(t.batch)) t.alone_s = alone[t.batch];
    fit(line, std::move(times));
    out.push_back(std::move(line));
  }
}

}  // namespace

double EpochLine::rate() const {
  return by_bytes && by_bytes->slope > 0 ? 1 / by_bytes->slope : std::nan("");
}

double EpochLine::communication_share() const {
  return by_bytes && by_bytes->slope > 0 && by_bytes->r2 >= kIsALine
             ? 1 - alone_by_bytes->slope / by_bytes->slope
             : std::nan("");
}

std::vector<EpochLine> epoch_lines_of(const Study& study) {
  std::vector<EpochLine> out;
  if (study.kind != "stevens") return out;
  for (const char* model : {"linear", "conv1d"}) {
    const std::size_t before = out.size();
    add_ours(out, study, model);
    if (out.size() > before) add_seeds(out, model);
  }
  return out;
}

}  // namespace lockstep
