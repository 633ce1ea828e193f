// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/numbered_figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "lockstep/core/json_fields.h"
#include "lockstep/report/claim_points.h"
#include "lockstep/report/seed_figures.h"
#include "lockstep/report/seed_gpus.h"

namespace lockstep {
namespace {

struct FigurePlace {
  int number;
  const char* model;
  std::int64_t batch;  // 0: lines
};
constexpr std::array<FigurePlace, 10> kPlaces{{{3, "linear", 20},
                                               {4, "linear", 50},
                                               {5, "linear", 100},
                                               {6, "linear", 300},
                                               {7, "conv1d", 20},
                                               {8, "conv1d", 50},
                                               {9, "conv1d", 100},
                                               {10, "conv1d", 300},
                                               {11, "linear", 0},
                                               {12, "conv1d", 0}}};

bool shown_in(const NumberedFigure& f, const std::string& model,
              std::int64_t batch) {
  return f.model == model && (f.global_batch == 0 || f.global_batch == batch);
}

std::string way_of(const StudyPoint& p) {
  return p.arm.empty() ? p.strategy : p.strategy + ", " + p.arm;
}

// Every way there is; for lines one device and the seed's way alone. Whether
// there was any.
bool add_our_times(NumberedFigure& f, const Study& study) {
  const ClaimPoints seeds_way = several_devices(study, f.model);
  const std::string way = seeds_way.empty() ? "" : way_of(*seeds_way.front());
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> taken;
  const auto add = [&](const StudyPoint& p) {
    if (!taken.insert({way_of(p), p.ranks, p.global_batch}).second) return;
    f.times.push_back({.here = true,
                       .name = way_of(p),
                       .origin = p.origin,
                       .ranks = p.ranks,
                       .global_batch = p.global_batch,
                       .epoch_s = p.epoch_s,
                       .low_s = p.epoch_low_s,
                       .high_s = p.epoch_high_s});
  };
  const ClaimPoints all = points_where(study, [&](const StudyPoint& p) {
    return shown_in(f, p.model, p.global_batch) && p.epoch_s > 0 &&
           (f.global_batch != 0 || p.ranks == 1 || way_of(p) == way);
  });
  // A measured time wins over a predicted one of the same point.
  for (const bool measured : {true, false})
    for (const StudyPoint* p : all)
      if ((p->origin == Origin::measured) == measured) add(*p);
  return !f.times.empty();
}

void add_seed_times(NumberedFigure& f, SeedGpus& gpus) {
  std::set<std::int64_t> batches;
  const double none = std::nan("");
  for (const SeedFigure& s : seed_figures("stevens")) {
    if (!shown_in(f, s.model, s.global_batch)) continue;
    batches.insert(s.global_batch);
    f.times.push_back({.here = false,
                       .name = "the seed",
                       .origin = Origin::measured,
                       .ranks = s.ranks,
                       .global_batch = s.global_batch,
                       .epoch_s = s.value,
                       .low_s = none,
                       .high_s = none});
  }
  for (const std::int64_t ranks : {1, 2, 3, 4})
    for (const std::int64_t batch : batches)
      f.times.push_back({.here = false,
                         .name = "predicted for its GPUs",
                         .origin = Origin::predicted,
                         .ranks = ranks,
                         .global_batch = batch,
                         .epoch_s = gpus.epoch_s(f.model, ranks, batch),
                         .low_s = none,
                         .high_s = none});
}

}  // namespace

std::string NumberedFigure::title() const {
  if (global_batch == 0)
    return fmt::format("Figure {} of the seed: {}, epoch time over batch",
                       number, model);
  return fmt::format("Figure {} of the seed: {} at batch {}", number, model,
                     global_batch);
}

std::vector<NumberedFigure> numbered_figures(const Study& study) {
  std::vector<NumberedFigure> out;
  if (study.kind != "stevens") return out;
  SeedGpus gpus;
  for (const FigurePlace& place : kPlaces) {
    NumberedFigure f{.number = place.number,
                     .model = place.model,
                     .global_batch = place.batch};
    if (add_our_times(f, study)) add_seed_times(f, gpus);
    out.push_back(std::move(f));
  }
  return out;
}

std::string figures_not_drawn(const std::vector<NumberedFigure>& figures) {
  std::string out;
  for (const NumberedFigure& f : figures)
    if (f.times.empty())
      out += fmt::format(
          "{}{} ({}{})", out.empty() ? "" : ", ", f.number, f.model,
          f.global_batch == 0 ? "" : fmt::format(" at {}", f.global_batch));
  return out.empty() ? ""
                     : "Figures of the seed for which this study holds no "
                       "point, and which are not drawn: " +
                           out + ".";
}

std::string figures_with(const std::string& model, std::int64_t global_batch) {
  std::string bars, lines;
  for (const FigurePlace& place : kPlaces)
    if (place.model == model && place.batch == 0)
      lines = std::to_string(place.number);
    else if (place.model == model && place.batch == global_batch)
      bars = std::to_string(place.number);
  return bars.empty() ? "Figure " + lines
                      : fmt::format("Figures {} and {}", bars, lines);
}

Json to_json(const std::vector<NumberedFigure>& figures) {
  Json out = Json::array();
  for (const NumberedFigure& f : figures) {
    if (f.times.empty()) continue;
    Json times = Json::array();
    for (const FigureTime& t : f.times)
      times.push_back({{"here", t.here},
                       {"name", t.name},
                       {"origin", word(t.origin)},
                       {"ranks", t.ranks},
                       {"global_batch", t.global_batch},
                       {"epoch_s", t.epoch_s},
                       {"epoch_lo_s", number_or_null(t.low_s)},
                       {"epoch_hi_s", number_or_null(t.high_s)}});
    out.push_back({{"number", f.number},
                   {"title", f.title()},
                   {"model", f.model},
                   {"global_batch", f.global_batch},
                   {"times", std::move(times)}});
  }
  return out;
}

}  // namespace lockstep
