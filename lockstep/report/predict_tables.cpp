// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/predict_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

std::string link_name(const Cluster& c, int ranks) {
  if (ranks == 1) return "none";
  const bool inside = c.inside && c.ranks_per_node(ranks) > 1;
  const bool between = c.between && c.nodes_of(ranks) > 1;
  return (inside ? c.inside->name : "") + (inside && between ? "+" : "") +
         (between ? c.between->name : "");
}

std::string flips_text(const std::vector<Flip>& flips) {
  std::vector<std::string> texts;
  for (const Flip& f : flips) texts.push_back(f.text);
  return fmt::format("{}", fmt::join(texts, ", or "));
}

Cell known(bool is_known, double value) {
  return is_known ? Cell(value) : Cell();
}

std::vector<Cell> point_row(const Subject& subject, const Cluster& cluster,
                            const GridPoint& point) {
  const Prediction& p = point.prediction;
  const Question& q = p.question;
  return {subject.name,
          cluster.device.name,
          link_name(cluster, q.ranks),
          std::string(word(q.method)),
          std::string(word(q.scaling)),
          std::int64_t{q.ranks},
          q.batch,
          q.global_batch(),
          std::int64_t{q.accumulate},
          p.time.step_s,
          p.step_s.lo90,
          p.step_s.hi90,
          p.epoch_s,
          p.samples_per_s,
          p.speedup,
          p.speedup_90.lo90,
          p.speedup_90.hi90,
          p.efficiency,
          p.time.compute_s,
          p.time.exposed_comm_s,
          p.time.idle_s,
          p.time.input_wait_s,
          p.time.comm_s,
          known(p.memory.known, p.memory.need_bytes),
          p.memory.known ? Cell(p.memory.largest_batch) : Cell(),
          std::string(word(p.verdict)),
          std::string(word(p.cause)),
          flips_text(point.flips)};
}

}  // namespace

Table prediction_rows(const Subject& subject, const Grid& grid,
                      const std::vector<GridPoint>& points) {
  Table table{.verb = "predict", .columns = {}};
  for (const char* name :
       {"model",         "device",        "link",      "strategy",
        "scaling",       "ranks",         "batch",     "global_batch",
        "accumulate",    "step_s",        "lo90_s",    "hi90_s",
        "epoch_s",       "samples_per_s", "speedup",   "speedup_lo90",
        "speedup_hi90",  "efficiency",    "compute_s", "exposed_comm_s",
        "idle_s",        "input_wait_s",  "comm_s",    "memory_bytes",
        "largest_batch", "verdict",       "cause",     "flips"})
    table.columns.push_back({.name = name});
  for (const GridPoint& point : points)
    table.add(point_row(subject, grid.clusters[point.cluster], point));
  return table;
}

Table prediction_summary(const Grid& grid,
                         const std::vector<GridPoint>& points) {
  const auto ms = scaled(1e3, 2);
  Table table{
      .verb = "predict",
      .columns = {{.name = "device"},
                  {.name = "link"},
                  {.name = "strategy"},
                  {.name = "batch"},
                  {.name = "ranks"},
                  {.name = "step", .unit = "(ms)", .show = ms},
                  {.name = "90 %", .unit = "(ms)"},
                  {.name = "samples", .unit = "(1/s)", .show = scaled(1, 0)},
                  {.name = "speed-up", .show = scaled(1, 2)},
                  {.name = "its 90 %"},
                  {.name = "efficiency", .unit = "(%)", .show = scaled(100, 1)},
                  {.name = "compute", .unit = "(ms)", .show = ms},
                  {.name = "exposed", .unit = "(ms)", .show = ms},
                  {.name = "idle", .unit = "(ms)", .show = ms},
                  {.name = "verdict"},
                  {.name = "cause"}}};
  for (const GridPoint& point : points) {
    const Prediction& p = point.prediction;
    const Cluster& c = grid.clusters[point.cluster];
    table.add(
        {c.device.name, link_name(c, p.question.ranks),
         std::string(word(p.question.method)), p.question.batch,
         std::int64_t{p.question.ranks}, p.time.step_s,
         fmt::format("{:.2f} to {:.2f}", p.step_s.lo90 * 1e3,
                     p.step_s.hi90 * 1e3),
         p.samples_per_s, p.speedup,
         fmt::format("{:.2f} to {:.2f}", p.speedup_90.lo90, p.speedup_90.hi90),
         p.efficiency, p.time.compute_s, p.time.exposed_comm_s,
         p.time.idle_s + p.time.input_wait_s, std::string(word(p.verdict)),
         std::string(word(p.cause))});
  }
  return table;
}

std::vector<std::string> flip_lines(const Grid& grid,
                                    const std::vector<GridPoint>& points) {
  std::vector<std::string> out;
  for (const GridPoint& point : points) {
    if (point.flips.empty()) continue;
    const Prediction& p = point.prediction;
    const Cluster& c = grid.clusters[point.cluster];
    out.push_back(
        fmt::format("{} on {} ranks of {}, batch {}: {} ({}); {}{}",
                    word(p.question.method), p.question.ranks, c.name,
                    p.question.batch, word(p.verdict), word(p.cause),
                    p.verdict == Verdict::scales
                        ? ""
                        : fmt::format("{} ", word(point.flips.front().becomes)),
                    flips_text(point.flips)));
  }
  return out;
}

}  // namespace lockstep
