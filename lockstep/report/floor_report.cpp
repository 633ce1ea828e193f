// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/floor_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/units.h"
#include "lockstep/core/version.h"

namespace lockstep {
namespace {

constexpr std::size_t kNamed = 3;  // layers that the sentence names

Cell positive(double value) { return value > 0 ? Cell(value) : Cell(); }

double above(const LayerFloor& row) { return row.step_s - row.floor_s; }

void add_row(Table& table, const LayerFloor& row) {
  const Cell bound = row.floor_s > 0
                         ? Cell(row.by_compute ? std::string("compute")
                                               : std::string("memory"))
                         : Cell();
  const bool both = row.step_s > 0 && row.floor_s > 0;
  const bool counted = row.flops && *row.flops > 0;
  table.add(
      {row.name, row.type, row.timed_s, row.step_s, positive(row.floor_s),
       both ? Cell(row.floor_s / row.step_s) : Cell(), bound,
       row.flops ? Cell(*row.flops) : Cell(), positive(row.bytes),
       counted && row.step_s > 0 ? Cell(*row.flops / row.step_s) : Cell()});
}

LayerFloor whole_step(const Floors& floors) {
  LayerFloor out{.name = "step", .type = ""};
  double compute_s = 0;
  for (const LayerFloor& row : floors.rows) {
    out.timed_s += row.timed_s;
    out.bytes += row.bytes;
    if (row.flops) out.flops = out.flops.value_or(0) + *row.flops;
    if (row.by_compute) compute_s += row.floor_s;
  }
  out.step_s = floors.step_s;
  out.floor_s = floors.floor_s;
  out.by_compute = compute_s > floors.floor_s / 2;
  return out;
}

}  // namespace

Table floor_table(const Floors& floors) {
  const auto us = [](const char* name, const char* title) {
    return Column{
        .name = name, .title = title, .unit = "(us)", .show = scaled(1e6, 1)};
  };
  Table out{
      .verb = "floor",
      .columns = {{.name = "layer"},
                  {.name = "type"},
                  us("timed_s", "timed"),
                  us("step_s", "in a step"),
                  us("floor_s", "floor"),
                  {.name = "share", .unit = "(%)", .show = scaled(100, 0)},
                  {.name = "bound", .title = "bound by"},
                  {.name = "flops", .unit = "(G)", .show = scaled(1e-9, 2)},
                  {.name = "bytes", .unit = "(MB)", .show = scaled(1e-6, 2)},
                  {.name = "flops_per_s",
                   .title = "reached",
                   .unit = "(TFLOP/s)",
                   .show = scaled(1e-12, 1)}}};
  for (const LayerFloor& row : floors.rows) add_row(out, row);
  add_row(out, whole_step(floors));
  return out;
}

std::string floor_sentence(const Floors& floors) {
  std::vector<const LayerFloor*> far;
  for (const LayerFloor& row : floors.rows)
    if (above(row) > 0) far.push_back(&row);
  std::ranges::stable_sort(far, std::greater(),
                           [](const LayerFloor* row) { return above(*row); });
  if (far.size() > kNamed) far.resize(kNamed);
  std::string named;
  for (std::size_t i = 0; i < far.size(); ++i)
    named += fmt::format("{}{} ({} above it)", i > 0 ? ", " : "", far[i]->name,
                         format_seconds(above(*far[i])));
  // Layers timed one by one take longer than in a step.
  const std::string scaled =
      floors.scale < 1
          ? fmt::format(", by layer times scaled by {:.2f} to the step",
                        floors.scale)
          : "";
  return fmt::format(
      "The floor is {:.0f} % of a step of {} at batch {}; furthest from "
      "it{}: {}.",
      100 * floors.floor_s / floors.step_s, format_seconds(floors.step_s),
      floors.batch, scaled, named.empty() ? "no layer" : named);
}

std::vector<std::string> floor_notes(const Floors& floors) {
  const DeviceSpec& d = floors.device;
  std::vector<std::string> out = {
      fmt::format("ceilings of {}: {}/s in {}, {} ({})", d.name,
                  format_flops(floors.peak_flops), word(floors.precision),
                  format_rate(d.memory_bytes_per_s),
                  d.source.empty() ? "source not stated" : d.source)};
  if (floors.scale < 1)
    out.push_back(fmt::format(
        "timed one by one the layers take {:.2f} times what the step has room "
        "for; 'in a step' is scaled to the measured step",
        1 / floors.scale));
  if (!floors.knows_flops())
    out.push_back(
        "FLOPs are unknown: floors are those of bytes alone, each layer "
        "reading what the one before it wrote");
  if (std::ranges::any_of(floors.rows, [](const LayerFloor& row) {
        return row.step_s > 0 && above(row) < 0;
      }))
    out.push_back(
        "over 100 %: read from a cache, or its time is counted in a "
        "neighbour's");
  return out;
}

Json floor_document(const Floors& floors, const std::string& command) {
  Json out = to_json(floor_table(floors));
  const std::vector<std::string> notes = floor_notes(floors);
  out["title"] = fmt::format("{} at batch {}, {}: measured against the floor",
                             floors.model, floors.batch, floors.device.name);
  out["made_utc"] = utc_now();
  out["version"] = version_text();
  out["rows_title"] = "Layer by layer";
  out["model"] = floors.model;
  out["device"] = floors.device.name;
  out["precision"] = word(floors.precision);
  out["batch"] = floors.batch;
  out["peak_flops"] = floors.peak_flops;
  out["memory_bytes_per_s"] = floors.device.memory_bytes_per_s;
  out["answers"] = Json::array(
      {{{"sentence", floor_sentence(floors)},
        {"how_sure",
         "Times are medians measured on the device, those of layers scaled to "
         "the whole step where needed; the floor is arithmetic."},
        {"why",
         "A layer takes at least its FLOPs at the peak or its bytes at the "
         "memory's bandwidth, whichever is longer, forward and backward."},
        {"what_would_change",
         "Fused layers move fewer bytes; a larger batch fills the device; "
         "peaks measured by lockstep probe are below those of a datasheet."}}});
  out["notes"] = notes;
  out["points"] = Json::array();
  out["machines"] = Json::array({floors.measured_on});
  out["commands"] = Json::array({command});
  return out;
}

}  // namespace lockstep
