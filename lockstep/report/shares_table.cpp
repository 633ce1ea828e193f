// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes as shares, how near messages come to the
// link's peak, and how full the memory is.
#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/core/units.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/study_columns.h"
#include "lockstep/report/study_tables.h"

namespace lockstep {
namespace {

struct Peak {
  double bytes_per_s = std::nan("");
  std::string from = {};
};

// Of every curve of the link, the best bus bandwidth.
double preset_peak(const Link& link) {
  double best = std::nan("");
  for (const LinkCurve& curve : link.curves)
    for (const LinkPoint& p : curve.points)
      best = std::fmax(best,
                       bus_factor(curve.op, curve.ranks) * p.bytes / p.seconds);
  return best;
}

// The link the run named, else the best message seen on that machine.
Peak peak_of(const Study& study, const StudyPoint& point) {
  const std::string link =
      point.runs.empty() ? "" : study.runs[point.runs[0]].link;
  if (!link.empty()) try {
      return {preset_peak(find_link(link)), "link preset " + link};
    } catch (const Error&) {
      // Named by a hardware file that is not here: fall to what was seen.
    }
  Peak seen{.from = "best message of this study"};
  for (const StudyPoint& p : study.points)
    if (p.hardware == point.hardware && p.peak_bus_bytes_per_s > 0 &&
        p.origin == point.origin)
      seen.bytes_per_s = std::fmax(seen.bytes_per_s, p.peak_bus_bytes_per_s);
  return seen;
}

double memory_there(const Study& study, const StudyPoint& point) {
  return point.runs.empty() ? std::nan("")
                            : study.runs[point.runs[0]].memory_bytes;
}

}  // namespace

Table shares_table(const Study& study) {
  Table table{
      .verb = "report",
      .columns = study_columns({{.name = "per_rank", .title = "a rank"},
                                percent_column("compute_share", "compute"),
                                percent_column("exposed_comm_share", "exposed"),
                                percent_column("hidden_comm_share", "hidden"),
                                percent_column("input_share", "input"),
                                percent_column("wait_share", "wait"),
                                percent_column("imbalance", "straggler"),
                                {.name = "bus_bytes_per_s",
                                 .title = "bus",
                                 .show = with(format_rate)},
                                percent_column("link_share", "of peak"),
                                {.name = "link_peak_bytes_per_s",
                                 .title = "peak",
                                 .show = with(format_rate)},
                                {.name = "peak_from"},
                                {.name = "peak_memory_bytes",
                                 .title = "memory",
                                 .show = with(format_bytes)},
                                percent_column("memory_share", "of memory")})};
  for (const StudyPoint& p : study.points) {
    if (!p.drawn() || p.runs.empty()) continue;
    const StepPieces& s = p.pieces;
    const double step = p.step.value;
    const bool talks = p.ranks > 1 && p.bus_bytes_per_s > 0;
    const Peak peak = talks ? peak_of(study, p) : Peak{};
    table.add({p.model, p.strategy, p.arm, std::string(word(p.origin)), p.ranks,
               p.per_rank, cell(s.compute_s() / step),
               cell(s.exposed_comm_s / step),
               cell(std::max(0.0, s.comm_s - s.exposed_comm_s) / step),
               cell((s.data_s + s.copy_s) / step), cell(s.wait_s / step),
               cell(p.imbalance), talks ? cell(p.bus_bytes_per_s) : Cell(),
               cell(p.bus_bytes_per_s / peak.bytes_per_s),
               cell(peak.bytes_per_s), peak.from,
               p.peak_memory_bytes > 0 ? cell(p.peak_memory_bytes) : Cell(),
               cell(p.peak_memory_bytes / memory_there(study, p))});
  }
  return table;
}

}  // namespace lockstep
