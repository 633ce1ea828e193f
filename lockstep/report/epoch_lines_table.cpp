// SPDX-License-Identifier: Apache-2.0
// The lines of epoch time as tables and as the page's figures need them.
#include <cmath>

#include "lockstep/core/json_fields.h"
#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/epoch_lines.h"
#include "lockstep/report/study_columns.h"

namespace lockstep {
namespace {

Column rate(const char* name, const char* title) {
  return {.name = name, .title = title, .show = with(format_rate)};
}

std::string whose(const EpochLine& line) {
  return line.here ? std::string(word(line.origin)) : "the seed";
}

// A slope that may be none at all has no rate.
Cell rate_cell(double slope) { return slope > 0 ? cell(1 / slope) : Cell(); }

// What is left of the slope without one device's.
double own_slope(const EpochLine& line) {
  return line.by_bytes->slope - line.alone_by_bytes->slope;
}

Json line_json(const std::optional<Line>& line) {
  if (!line) return nullptr;
  return {{"slope", number_or_null(line->slope)},
          {"slope_lo95", number_or_null(line->slope_low)},
          {"slope_hi95", number_or_null(line->slope_high)},
          {"offset_s", number_or_null(line->offset)},
          {"r2", number_or_null(line->r2)}};
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double v : values) out.push_back(number_or_null(v));
  return out;
}

}  // namespace

Table byte_lines_table(const std::vector<EpochLine>& lines) {
  Table table{.verb = "report",
              .columns = study_columns(
                  {{.name = "batches"},
                   rate("rate_bytes_per_s", "slope reads"),
                   rate("rate_lo95_bytes_per_s", "from"),
                   rate("rate_hi95_bytes_per_s", "to"),
                   {.name = "r2", .title = "R2", .show = scaled(1, 3)},
                   percent_column("alone_share", "one device has", 0),
                   percent_column("communication_share", "communication", 0),
                   percent_column("exposed_share", "exposed, timed", 0),
                   rate("own_rate_bytes_per_s", "without one device's")})};
  for (const EpochLine& line : lines) {
    if (!line.by_bytes) continue;
    const Line& l = *line.by_bytes;
    const double own = line.communication_share();
    table.add({line.model, line.strategy, line.arm, whose(line), line.ranks,
               static_cast<std::int64_t>(line.batches.size()),
               rate_cell(l.slope), rate_cell(l.slope_high),
               rate_cell(l.slope_low), cell(l.r2), cell(1 - own), cell(own),
               std::isfinite(own) && line.exposed_by_bytes
                   ? cell(line.exposed_by_bytes->slope / l.slope)
                   : Cell(),
               std::isfinite(own) ? rate_cell(own_slope(line)) : Cell()});
  }
  return table;
}

Table batch_lines_table(const std::vector<EpochLine>& lines) {
  Table table{.verb = "report",
              .columns = study_columns(
                  {{.name = "batches"},
                   seconds_column("offset_s", "offset", 4),
                   seconds_column("slope_s", "slope, times batch", 4),
                   seconds_column("slope_lo95_s", "from", 4),
                   seconds_column("slope_hi95_s", "to", 4),
                   {.name = "r2", .title = "R2", .show = scaled(1, 3)}})};
  for (const EpochLine& line : lines) {
    const Line& l = line.by_inverse_batch;
    table.add({line.model, line.strategy, line.arm, whose(line), line.ranks,
               static_cast<std::int64_t>(line.batches.size()), cell(l.offset),
               cell(l.slope), cell(l.slope_low), cell(l.slope_high),
               cell(l.r2)});
  }
  return table;
}

Json to_json(const std::vector<EpochLine>& lines) {
  Json out = Json::array();
  for (const EpochLine& line : lines)
    out.push_back(
        {{"here", line.here},
         {"model", line.model},
         {"strategy", line.strategy},
         {"arm", line.arm},
         {"origin", word(line.origin)},
         {"ranks", line.ranks},
         {"global_batch", line.batches},
         {"epoch_s", numbers(line.epoch_s)},
         {"link_bytes", numbers(line.link_bytes)},
         {"alone_s", numbers(line.alone_s)},
         {"communication_share", number_or_null(line.communication_share())},
         {"by_bytes", line_json(line.by_bytes)},
         {"alone_by_bytes", line_json(line.alone_by_bytes)},
         {"by_inverse_batch", line_json(line.by_inverse_batch)}});
  return out;
}

}  // namespace lockstep
