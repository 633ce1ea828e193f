// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/size_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <tuple>

#include "lockstep/core/json_fields.h"
#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/study_words.h"

namespace lockstep {
namespace {

constexpr double kBytesAParameter = 4;

// The same work on one device. Measured wins.
const StudyPoint* alone(const Study& study, const StudyPoint& many) {
  const StudyPoint* found = nullptr;
  for (const StudyPoint& p : study.points)
    if (p.drawn() && p.ranks == 1 && p.model == many.model &&
        p.global_batch == many.global_batch && p.arm == many.arm &&
        p.device == many.device && p.hardware == many.hardware &&
        (found == nullptr || p.origin == Origin::measured))
      found = &p;
  return found;
}

SizeCell cell_of(const NamedSize& size, const StudyPoint& one,
                 const StudyPoint& many) {
  SizeCell out{.size = size,
               .strategy = many.strategy,
               .arm = many.arm,
               .hardware = many.hardware};
  out.ranks = many.ranks, out.global_batch = many.global_batch;
  out.origin = one.origin == Origin::measured ? many.origin : one.origin;
  out.speedup = ratio(one.step, many.step);
  out.verdict = verdict_of(out.speedup.value, static_cast<double>(many.ranks));
  return out;
}

// Where a cell stands: map by map, then by row and column.
auto place_of(const SizeCell& c) {
  return std::make_tuple(c.hardware, c.strategy, c.arm, c.ranks, c.global_batch,
                         c.size.flops, c.size.parameters);
}

std::string joined(const std::set<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " and "));
}

// "scales up to 0.02, chokes from 2 on".
std::string found(const SizeBoundary& b) {
  const bool some_scale = !std::isnan(b.scales_up_to),
             some_choke = !std::isnan(b.chokes_from);
  if (!some_scale && !some_choke) return "every size fades";
  std::string out = some_scale
                        ? fmt::format("scales up to {:.2g}", b.scales_up_to)
                        : "no size scales";
  if (!some_choke) return out + ", no size chokes";
  out += fmt::format(", {}chokes from {:.2g} on", b.clear() ? "" : "but ",
                     b.chokes_from);
  return b.clear() ? out : out + ": the ratio alone does not decide here";
}

}  // namespace

double SizeCell::parameter_bytes() const {
  return kBytesAParameter * static_cast<double>(size.parameters);
}

double SizeCell::bytes_per_flop() const {
  return parameter_bytes() / static_cast<double>(size.flops);
}

bool SizeCell::unsure() const {
  const auto n = static_cast<double>(ranks);
  return speedup.has_interval() &&
         verdict_of(speedup.low, n) != verdict_of(speedup.high, n);
}

std::vector<SizeCell> size_map_of(const Study& study) {
  std::map<decltype(place_of(SizeCell{})), SizeCell> cells;
  std::set<std::string> sizes;
  for (const StudyPoint& p : study.points) {
    const std::optional<NamedSize> size = size_in_name(p.model);
    if (!size || !p.drawn() || p.ranks == 1) continue;
    const StudyPoint* one = alone(study, p);
    if (one == nullptr) continue;
    sizes.insert(p.model);
    SizeCell cell = cell_of(*size, *one, p);
    const auto [at, is_new] = cells.try_emplace(place_of(cell), cell);
    if (!is_new && cell.origin == Origin::measured) at->second = cell;
  }
  std::vector<SizeCell> out;
  if (sizes.size() < 2) return out;
  for (auto& [place, cell] : cells) out.push_back(std::move(cell));
  return out;
}

std::vector<SizeBoundary> boundaries_of(const std::vector<SizeCell>& map) {
  std::vector<SizeBoundary> out;
  for (const SizeCell& c : map) {
    const double at = c.bytes_per_flop(), none = std::nan("");
    if (out.empty() ||
        std::tie(out.back().hardware, out.back().strategy, out.back().arm,
                 out.back().ranks, out.back().global_batch) !=
            std::tie(c.hardware, c.strategy, c.arm, c.ranks, c.global_batch)) {
      out.push_back({c.strategy, c.arm, c.hardware});
      SizeBoundary& b = out.back();
      b.ranks = c.ranks, b.global_batch = c.global_batch;
      b.least = b.most = at, b.scales_up_to = b.chokes_from = none;
    }
    SizeBoundary& b = out.back();
    b.least = std::fmin(b.least, at), b.most = std::fmax(b.most, at);
    if (c.verdict == Verdict::scales)
      b.scales_up_to = std::fmax(b.scales_up_to, at);
    if (c.verdict == Verdict::chokes)
      b.chokes_from = std::fmin(b.chokes_from, at);
    b.origins.emplace(word(c.origin));
    ++b.cells, b.unsure += c.unsure() ? 1 : 0;
  }
  return out;
}

std::string sentence(const SizeBoundary& b) {
  std::string out = fmt::format(
      "variable on {} with {}{}, batch {} ({}), {:.2g} to {:.2g} parameter "
      "bytes for each FLOP of a sample's forward pass: {}.",
      devices(b.ranks), b.strategy, b.arm.empty() ? "" : " (" + b.arm + ")",
      b.global_batch, joined(b.origins), b.least, b.most, found(b));
  if (b.unsure > 0)
    out += fmt::format(
        " Not sure: the intervals of {} of {} sizes reach another word.",
        b.unsure, b.cells);
  return out;
}

Table size_table(const std::vector<SizeCell>& map) {
  Table table{
      .verb = "report",
      .columns = {
          {.name = "strategy"},
          {.name = "arm"},
          {.name = "hardware"},
          {.name = "origin"},
          {.name = "ranks"},
          {.name = "global_batch", .title = "batch"},
          {.name = "parameter_bytes",
           .title = "parameters",
           .show = with(format_bytes)},
          {.name = "flops_a_sample",
           .title = "forward, a sample",
           .show = with(format_flops)},
          {.name = "bytes_per_flop",
           .title = "bytes a FLOP",
           .show = scaled(1, 4)},
          {.name = "speedup", .title = "speed-up", .show = scaled(1, 2)},
          {.name = "speedup_lo95", .title = "from", .show = scaled(1, 2)},
          {.name = "speedup_hi95", .title = "to", .show = scaled(1, 2)},
          {.name = "verdict"}}};
  for (const SizeCell& c : map)
    table.add({c.strategy, c.arm, c.hardware, std::string(word(c.origin)),
               c.ranks, c.global_batch, cell(c.parameter_bytes()),
               cell(static_cast<double>(c.size.flops)),
               cell(c.bytes_per_flop()), cell(c.speedup.value),
               cell(c.speedup.low), cell(c.speedup.high),
               std::string(word(c.verdict))});
  return table;
}

Json to_json(const std::vector<SizeBoundary>& boundaries) {
  Json out = Json::array();
  for (const SizeBoundary& b : boundaries)
    out.push_back({{"strategy", b.strategy},
                   {"arm", b.arm},
                   {"hardware", b.hardware},
                   {"ranks", b.ranks},
                   {"global_batch", b.global_batch},
                   {"scales_up_to", number_or_null(b.scales_up_to)},
                   {"chokes_from", number_or_null(b.chokes_from)},
                   {"sentence", sentence(b)}});
  return out;
}

}  // namespace lockstep
