// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/learning_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "lockstep/core/json_fields.h"

namespace lockstep {

const std::array<std::pair<const char*, double EpochSample::*>, 4>
    kLearningFields{{{"train_accuracy", &EpochSample::train_accuracy},
                     {"val_accuracy", &EpochSample::val_accuracy},
                     {"train_loss", &EpochSample::train_loss},
                     {"val_loss", &EpochSample::val_loss}}};

namespace {

// 0: every batch of one device; kPicked: what information picks.
constexpr std::int64_t kPicked = -1;
constexpr std::array<std::pair<int, std::int64_t>, 6> kLearningPlaces{
    {{1, 0}, {2, 16}, {3, 32}, {4, kPicked}, {5, 64}, {6, 128}}};

using RunPointers = std::vector<const RunFacts*>;
// One line each, in this order: fewer devices first.
using LineKey = std::tuple<std::int64_t, std::string, std::int64_t>;

EpochBand band_at(const RunPointers& runs, std::size_t epoch,
                  double EpochSample::*field) {
  std::vector<double> values;
  for (const RunFacts* run : runs)
    if (epoch < run->epochs.size() && std::isfinite(run->epochs[epoch].*field))
      values.push_back(run->epochs[epoch].*field);
  if (values.empty()) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, none};
  }
  double sum = 0;
  for (const double v : values) sum += v;
  return {sum / static_cast<double>(values.size()),
          *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

LearningLine learning_line(const LineKey& key, const RunPointers& runs,
                           bool by_batch) {
  const auto& [ranks, strategy, batch] = key;
  LearningLine out{.ranks = ranks,
                   .global_batch = batch,
                   .runs = static_cast<std::int64_t>(runs.size())};
  out.name = by_batch     ? fmt::format("batch {}", batch)
             : ranks == 1 ? "1 device"
                          : fmt::format("{} devices, {}", ranks, strategy);
  std::size_t epochs = 0;
  for (const RunFacts* run : runs)
    epochs = std::max(epochs, run->epochs.size());
  for (std::size_t f = 0; f < kLearningFields.size(); ++f)
    for (std::size_t e = 0; e < epochs; ++e)
      out.fields[f].push_back(band_at(runs, e, kLearningFields[f].second));
  return out;
}

// Figure 1 compares batches of one device, the others devices at one batch;
// where there is nothing to compare there are no lines.
std::vector<LearningLine> lines_in(const Study& study, const std::string& arm,
                                   std::int64_t batch) {
  std::map<LineKey, RunPointers> by_line;
  bool several_devices = false;
  for (const RunFacts& run : study.runs) {
    const bool shown = batch == 0 ? run.ranks == 1 : run.global_batch == batch;
    if (!shown || run.arm != arm || run.epochs.size() < 2) continue;
    several_devices = several_devices || run.ranks > 1;
    by_line[{run.ranks, run.ranks == 1 ? "" : run.strategy, run.global_batch}]
        .push_back(&run);
  }
  std::vector<LearningLine> out;
  if (batch == 0 ? by_line.size() < 2 : !several_devices) return out;
  for (const auto& [key, runs] : by_line)
    out.push_back(learning_line(key, runs, batch == 0));
  return out;
}

std::vector<std::string> arms_of(const Study& study) {
  std::vector<std::string> out;
  for (const RunFacts& run : study.runs)
    if (std::find(out.begin(), out.end(), run.arm) == out.end())
      out.push_back(run.arm);
  return out;
}

std::string learning_title(int number, std::int64_t place, std::int64_t batch,
                           const std::string& arm) {
  const std::string what =
      place == 0 ? "one device, every batch"
      : place == kPicked
          ? fmt::format("the batch that information picks, here {}", batch)
          : fmt::format("batch {}", batch);
  return fmt::format("Figure {} of the seed: {}{}", number, what,
                     arm.empty() ? "" : fmt::format(" ({})", arm));
}

}  // namespace

std::vector<LearningFigure> learning_figures(const Study& study,
                                             std::int64_t picked) {
  std::vector<LearningFigure> out;
  if (study.kind != "qeios") return out;
  const std::vector<std::string> arms = arms_of(study);
  for (const auto& [number, place] : kLearningPlaces) {
    const std::int64_t batch = place == kPicked ? picked : place;
    if (place == kPicked && picked == 0) continue;
    for (const std::string& arm : arms)
      if (auto lines = lines_in(study, arm, batch); !lines.empty())
        out.push_back({.number = number,
                       .title = learning_title(number, place, batch, arm),
                       .lines = std::move(lines)});
  }
  return out;
}

std::string learning_not_drawn(const std::vector<LearningFigure>& figures) {
  if (figures.empty()) return "";
  std::string out;
  for (const auto& [number, place] : kLearningPlaces)
    if (std::none_of(figures.begin(), figures.end(),
                     [n = number](const auto& f) { return f.number == n; }))
      out += fmt::format("{}{}", out.empty() ? "" : ", ", number);
  return out.empty() ? ""
                     : "Figures of the seed for which this study holds nothing "
                       "to compare, and which are not drawn: " +
                           out + ".";
}

Json to_json(const std::vector<LearningFigure>& figures) {
  Json out = Json::array();
  for (const LearningFigure& figure : figures) {
    Json lines = Json::array();
    for (const LearningLine& line : figure.lines) {
      Json one = {{"name", line.name},
                  {"ranks", line.ranks},
                  {"global_batch", line.global_batch},
                  {"runs", line.runs}};
      for (std::size_t f = 0; f < kLearningFields.size(); ++f) {
        Json bands = Json::array();
        for (const EpochBand& b : line.fields[f])
          bands.push_back({number_or_null(b.mean), number_or_null(b.low),
                           number_or_null(b.high)});
        one[kLearningFields[f].first] = std::move(bands);
      }
      lines.push_back(std::move(one));
    }
    out.push_back({{"number", figure.number},
                   {"title", figure.title},
                   {"lines", std::move(lines)}});
  }
  return out;
}

}  // namespace lockstep
