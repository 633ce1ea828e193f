// SPDX-License-Identifier: Apache-2.0
// What layers cost a sample over the batch: table, sentences, the page's data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/json_fields.h"
#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/layer_times.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostNamed = 3;  // layers in a sentence
constexpr double kFlat = 0.05;         // a change that is none

double fall(const LayerSample& l, std::size_t from, std::size_t to) {
  return l.sample_s[from] - l.sample_s[to];
}

// The layers that move most in the direction of the whole, with their shares.
std::string movers(const LayerTimes& t, std::size_t from, std::size_t to) {
  const double all = t.whole_s(from) - t.whole_s(to);
  std::vector<const LayerSample*> order;
  for (const LayerSample& l : t.layers)
    if (fall(l, from, to) / all > 0.01) order.push_back(&l);
  std::ranges::sort(order, std::greater{}, [&](const LayerSample* l) {
    return fall(*l, from, to) / all;
  });
  std::string out;
  for (std::size_t i = 0; i < std::min(order.size(), kMostNamed); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", order[i]->layer,
                       format_percent(fall(*order[i], from, to) / all));
  return out;
}

std::string changed(const LayerTimes& t, std::size_t from, std::size_t to) {
  const double ratio = t.whole_s(to) / t.whole_s(from) - 1;
  if (std::abs(ratio) < kFlat)
    return fmt::format("from {} to {} a sample costs the same within {}",
                       t.batches[from], t.batches[to], format_percent(kFlat));
  return fmt::format("from {} to {} a sample's time {} from {} to {} ({})",
                     t.batches[from], t.batches[to],
                     ratio < 0 ? "falls" : "rises",
                     format_seconds(t.whole_s(from)),
                     format_seconds(t.whole_s(to)), movers(t, from, to));
}

std::string dip_words(const Dip& dip) {
  return fmt::format(
      "{} dips at batch {}: a sample takes {} less than at either "
      "neighbour; {}",
      dip.model, dip.batch, format_seconds(dip.saved_s),
      dip.layers.empty()
          ? "no layer of the profile shows it, or the profile has no such batch"
          : "by layer: " + dip.layers);
}

Column us(const char* name, const char* title) {
  return {.name = name, .title = title, .unit = "(us)", .show = scaled(1e6, 3)};
}

}  // namespace

Table layers_table(const LayerFindings& findings) {
  Table table{
      .verb = "report",
      .columns = {{.name = "model"},
                  {.name = "layer"},
                  {.name = "type"},
                  {.name = "smallest_batch", .title = "smallest"},
                  {.name = "bend_batch", .title = "bend"},
                  {.name = "largest_batch", .title = "largest"},
                  us("smallest_sample_s", "a sample at smallest"),
                  us("bend_sample_s", "at the bend"),
                  us("largest_sample_s", "at largest"),
                  percent_column("share_of_fall", "of the fall to the bend"),
                  percent_column("change_after", "change after it")}};
  for (const LayerTimes& t : findings.times) {
    const std::size_t last = t.batches.size() - 1;
    const double all = t.whole_s(0) - t.whole_s(t.bend);
    for (const LayerSample& l : t.layers)
      table.add({t.model, l.layer, l.type, t.batches[0], t.batches[t.bend],
                 t.batches[last], cell(l.sample_s[0]), cell(l.sample_s[t.bend]),
                 cell(l.sample_s[last]),
                 all > 0 ? cell(fall(l, 0, t.bend) / all) : Cell(),
                 t.bend < last ? cell(l.sample_s[last] / l.sample_s[t.bend] - 1)
                               : Cell()});
  }
  return table;
}

std::vector<std::string> layer_sentences(const LayerFindings& findings) {
  std::vector<std::string> out;
  for (const LayerTimes& t : findings.times) {
    const std::size_t last = t.batches.size() - 1;
    std::string text = fmt::format("{} on {}, one device: {}", t.model,
                                   t.device, changed(t, 0, t.bend));
    if (t.bend < last) text += "; " + changed(t, t.bend, last);
    out.push_back(text + ".");
  }
  for (const Dip& dip : findings.dips) out.push_back(dip_words(dip) + ".");
  for (const std::string& complaint : findings.left_out)
    out.push_back("Left out: " + complaint);
  return out;
}

Json to_json(const LayerFindings& findings) {
  Json out = Json::array();
  for (const LayerTimes& t : findings.times) {
    Json layers = Json::array();
    for (const LayerSample& l : t.layers) {
      Json times = Json::array();
      for (const double s : l.sample_s) times.push_back(number_or_null(s));
      layers.push_back(
          {{"layer", l.layer}, {"type", l.type}, {"sample_s", times}});
    }
    out.push_back({{"model", t.model},
                   {"device", t.device},
                   {"batches", t.batches},
                   {"bend_batch",
                    t.bend_fitted ? Json(t.batches[t.bend]) : Json(nullptr)},
                   {"layers", std::move(layers)}});
  }
  return out;
}

}  // namespace lockstep
