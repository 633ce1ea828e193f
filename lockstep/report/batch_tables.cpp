// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lockstep/report/cells.h"

namespace lockstep {
namespace {

// Short runs in seconds, long ones in minutes, the same in the whole table.
struct TimeUnit {
  double seconds = 1;
  const char* name = "s";
};

TimeUnit time_unit(std::span<const BatchComparison> comparisons) {
  double longest = 0;
  for (const BatchComparison& c : comparisons)
    for (const BatchRow& row : c.rows)
      longest = std::max(longest, row.information.time_s.value_or(0));
  return longest > 300 ? TimeUnit{60, "min"} : TimeUnit{};
}

bool several_arms(std::span<const BatchComparison> comparisons) {
  return std::ranges::any_of(
      comparisons, [](const BatchComparison& c) { return !c.arm.empty(); });
}

// An arm column only where there is something to tell apart.
void drop_arm(Table& table, std::span<const BatchComparison> comparisons) {
  if (several_arms(comparisons)) return;
  table.columns.erase(table.columns.begin());
  for (auto& row : table.rows) row.erase(row.begin());
}

std::string picked_by(const BatchComparison& c, double batch) {
  std::vector<std::string> names;
  for (const Pick& pick : c.picks)
    if (pick.batch == batch) names.push_back(pick.criterion);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Column> row_columns(const TimeUnit& unit) {
  const std::string time = fmt::format("({})", unit.name);
  return {{.name = "arm"},
          {.name = "ranks", .title = "devices"},
          {.name = "global_batch", .title = "batch"},
          {.name = "lr"},
          {.name = "runs"},
          {.name = "best_accuracy",
           .title = "accuracy",
           .unit = "(%)",
           .show = scaled(100, 2)},
          {.name = "information_nats",
           .title = "information",
           .unit = "(nats)",
           .show = scaled(1, 4)},
          {.name = "information_time_s",
           .title = "to target",
           .unit = time,
           .show = scaled(1 / unit.seconds, 1)},
          {.name = "information_rate_nats_per_s",
           .title = "rate",
           .unit = fmt::format("(nats/{})", unit.name),
           .show = scaled(unit.seconds, 4)},
          {.name = "information_rate_se",
           .title = "+-",
           .show = scaled(unit.seconds, 4)},
          {.name = "plain_time_s",
           .title = "plain time",
           .unit = time,
           .show = scaled(1 / unit.seconds, 1)},
          {.name = "plain_steps", .title = "steps", .show = scaled(1, 0)},
          {.name = "step_s",
           .title = "step",
           .unit = "(ms)",
           .show = scaled(1e3, 1)},
          {.name = "efficiency", .show = scaled(1, 3)},
          {.name = "goodput_per_s",
           .title = "goodput",
           .unit = "(1/s)",
           .show = scaled(1, 1)},
          {.name = "picked_by", .title = "picked by"},
          {.name = "note"}};
}

}  // namespace

Table batch_rows(std::span<const BatchComparison> comparisons) {
  Table table{.verb = "batch", .columns = row_columns(time_unit(comparisons))};
  for (const BatchComparison& c : comparisons)
    for (const BatchRow& r : c.rows)
      table.add({c.arm, c.ranks, r.batch, cell(r.lr),
                 static_cast<std::int64_t>(r.num_runs), r.best_accuracy,
                 r.information.final_nats, cell(r.information.time_s),
                 r.information.rate, cell(r.information.rate_se),
                 cell(r.plain_time_s), cell(r.plain_steps), cell(r.step_s),
                 cell(r.efficiency), cell(r.goodput), picked_by(c, r.batch),
                 r.note});
  drop_arm(table, comparisons);
  return table;
}

Table batch_choices(std::span<const BatchComparison> comparisons) {
  Table table{
      .verb = "batch",
      .columns = {
          {.name = "arm"},
          {.name = "ranks", .title = "devices"},
          {.name = "criterion"},
          {.name = "global_batch", .title = "batch"},
          {.name = "formula_batch", .title = "formula", .show = scaled(1, 0)},
          {.name = "low", .show = scaled(1, 0)},
          {.name = "high", .show = scaled(1, 0)},
          {.name = "extra_time",
           .title = "extra time",
           .unit = "(%)",
           .show = scaled(100, 0)},
          {.name = "reason"}}};
  for (const BatchComparison& c : comparisons)
    for (const Pick& p : c.picks)
      table.add({c.arm, c.ranks, p.criterion, cell(p.batch), cell(p.exact),
                 cell(p.low), cell(p.high), cell(p.extra_time), p.reason});
  drop_arm(table, comparisons);
  return table;
}

Table batch_curve(std::span<const BatchComparison> comparisons) {
  Table table{.verb = "batch",
              .columns = {{.name = "arm"},
                          {.name = "ranks", .title = "devices"},
                          {.name = "delta"},
                          {.name = "target_nats",
                           .title = "target",
                           .unit = "(nats)",
                           .show = scaled(1, 4)},
                          {.name = "global_batch", .title = "batch"}}};
  for (const BatchComparison& c : comparisons)
    for (const TargetChoice& t : c.curve)
      table.add({c.arm, c.ranks, t.delta,
                 t.batch ? Cell(t.target_nats) : Cell(), cell(t.batch)});
  drop_arm(table, comparisons);
  return table;
}

Table batch_own_choices(std::span<const OwnChoice> choices) {
  const auto seconds = [](const char* name, const char* title) {
    return Column{
        .name = name, .title = title, .unit = "(s)", .show = scaled(1, 1)};
  };
  Table table{.verb = "batch",
              .columns = {{.name = "chosen_by", .title = "chosen by"},
                          {.name = "arm"},
                          {.name = "ranks", .title = "devices"},
                          {.name = "runs"},
                          {.name = "first_batch", .title = "begins"},
                          {.name = "lowest_end", .title = "ends from"},
                          {.name = "highest_end", .title = "to"},
                          {.name = "best_accuracy",
                           .title = "accuracy",
                           .unit = "(%)",
                           .show = scaled(100, 2)},
                          {.name = "target_nats",
                           .title = "target",
                           .unit = "(nats)",
                           .show = scaled(1, 4)},
                          {.name = "reached"},
                          seconds("pilot_s", "pilot"),
                          seconds("time_s", "to target"),
                          {.name = "fixed_batch", .title = "best fixed"},
                          {.name = "fixed_runs", .title = "its runs"},
                          {.name = "fixed_reached", .title = "reached"},
                          seconds("fixed_s", "its time"),
                          {.name = "extra_time",
                           .title = "extra time",
                           .unit = "(%)",
                           .show = scaled(100, 0)}}};
  for (const OwnChoice& c : choices)
    table.add({c.mode, c.arm, c.ranks, static_cast<std::int64_t>(c.num_runs),
               c.first_batch, c.lowest_end, c.highest_end, c.best_accuracy,
               c.target_nats, static_cast<std::int64_t>(c.num_reached),
               c.pilot_s, cell(c.time_s),
               c.fixed_s ? Cell(c.fixed_batch) : Cell(),
               static_cast<std::int64_t>(c.fixed_runs),
               static_cast<std::int64_t>(c.fixed_reached), cell(c.fixed_s),
               cell(c.extra_time())});
  return table;
}

Table batch_by_devices(std::span<const ArmByDevices> arms) {
  const auto ms = [](const char* name, const char* title) {
    return Column{
        .name = name, .title = title, .unit = "(ms)", .show = scaled(1e3, 2)};
  };
  Table table{
      .verb = "batch",
      .columns = {
          {.name = "arm"},
          {.name = "ranks", .title = "devices"},
          {.name = "origin"},
          {.name = "global_batch", .title = "batch"},
          {.name = "batch_low", .title = "from"},
          {.name = "batch_high", .title = "to"},
          {.name = "per_rank", .title = "on each"},
          ms("step_s", "step"),
          ms("step_lo90_s", "5 %"),
          ms("step_hi90_s", "95 %"),
          {.name = "efficiency", .show = scaled(1, 3)},
          {.name = "goodput_per_s",
           .title = "goodput",
           .unit = "(1/s)",
           .show = scaled(1, 0)},
          {.name = "speedup", .title = "speed-up", .show = scaled(1, 2)},
          {.name = "note"}}};
  for (const ArmByDevices& arm : arms)
    for (const BatchForDevices& r : arm.rows)
      table.add(
          {arm.arm, std::int64_t{r.devices},
           std::string(r.devices == 1 ? "by measured steps" : "predicted"),
           r.batch, r.low, r.high, r.batch / r.devices, r.step_s, r.step_lo90_s,
           r.step_hi90_s, r.efficiency, r.goodput, r.speedup,
           std::string(r.beyond ? "a device's share was not measured" : "")});
  return table;
}

Table batch_sensitivity(std::span<const Sensitivity> rows) {
  Table table{
      .verb = "batch",
      .columns = {{.name = "setting"},
                  {.name = "outcome"},
                  {.name = "runs"},
                  {.name = "nats", .show = scaled(1, 3)},
                  {.name = "share", .show = scaled(1, 3)},
                  {.name = "p_value", .title = "p", .show = scaled(1, 3)},
                  {.name = "null_mean", .show = scaled(1, 3)},
                  {.name = "null_sd", .show = scaled(1, 3)},
                  {.name = "gaussian_nats", .show = scaled(1, 3)},
                  {.name = "note"}}};
  for (const Sensitivity& s : rows) {
    const auto known = [&](double v) { return s.known ? cell(v) : Cell(); };
    table.add({s.setting, s.outcome, static_cast<std::int64_t>(s.num_runs),
               known(s.nats), known(s.share), known(s.test.p_value),
               known(s.test.null_mean), known(s.test.null_sd),
               known(s.gaussian_nats), s.note});
  }
  return table;
}

}  // namespace lockstep
