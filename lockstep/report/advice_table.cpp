// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/advice_table.h"

#include <cmath>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

std::vector<Cell> choice_row(const Grid& grid, const Choice& c) {
  const Prediction& p = c.prediction;
  const Question& q = p.question;
  return {c.label,
          grid.clusters[c.cluster].name,
          std::string(word(q.method)),
          std::int64_t{q.ranks},
          q.global_batch(),
          q.rank_batch(),
          std::int64_t{q.accumulate},
          c.lr > 0 ? Cell(c.lr) : Cell(),
          p.time.step_s,
          c.time_s,
          c.lo90_s,
          c.hi90_s,
          c.device_hours,
          std::isnan(c.money) ? Cell() : Cell(c.money),
          c.progress,
          p.speedup,
          p.efficiency,
          std::string(word(p.verdict)),
          std::string(word(p.cause))};
}

}  // namespace

Table advice_rows(const Grid& grid, const Advice& advice, std::size_t most) {
  Table table{
      .verb = "advise",
      .columns = {
          {.name = "what"},
          {.name = "cluster"},
          {.name = "strategy"},
          {.name = "ranks"},
          {.name = "global_batch", .title = "batch"},
          {.name = "rank_batch", .title = "a device"},
          {.name = "accumulate", .title = "passes"},
          {.name = "lr"},
          {.name = "step_s", .title = "step", .show = with(format_seconds)},
          {.name = "time_s", .title = "time", .show = with(format_seconds)},
          {.name = "lo90_s", .title = "5 %", .show = with(format_seconds)},
          {.name = "hi90_s", .title = "95 %", .show = with(format_seconds)},
          {.name = "device_hours", .title = "device h"},
          {.name = "money", .show = scaled(1, 2)},
          {.name = "progress", .show = scaled(1, 3)},
          {.name = "speedup", .title = "speed-up", .show = scaled(1, 2)},
          {.name = "efficiency", .show = scaled(1, 3)},
          {.name = "verdict"},
          {.name = "cause"}}};
  table.add(choice_row(grid, advice.choice));
  if (advice.next_best) table.add(choice_row(grid, *advice.next_best));
  if (advice.more_devices) table.add(choice_row(grid, *advice.more_devices));
  for (const Choice& c : advice.remedies) table.add(choice_row(grid, c));
  for (std::size_t i = 0; i < advice.ranking.size() && i < most; ++i)
    table.add(choice_row(grid, advice.ranking[i]));
  return table;
}

}  // namespace lockstep
