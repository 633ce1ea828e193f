// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/overfitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/report/accuracy_noise.h"
#include "lockstep/report/cells.h"

namespace lockstep {
namespace {

// Validation loss by epoch, counted from 1, where it was evaluated.
std::map<std::int64_t, double> losses_of(const RunFacts& run) {
  std::map<std::int64_t, double> out;
  for (const EpochSample& e : run.epochs)
    if (std::isfinite(e.val_loss)) out[e.epoch + 1] = e.val_loss;
  return out;
}

// One that lost its numbers on the way has no end to compare.
bool ended(const RunFacts& run) {
  return !run.epochs.empty() && std::isfinite(run.epochs.back().val_loss) &&
         std::isfinite(run.epochs.back().train_accuracy) &&
         std::isfinite(run.epochs.back().val_accuracy);
}

// Means over runs; the losses of epochs that all of them evaluated.
struct Learning {
  double train_accuracy = 0, val_accuracy = 0;
  std::map<std::int64_t, double> val_loss = {};
  std::int64_t runs = 0, not_ended = 0;
  std::int64_t classes = 0, examples = 0;  // of validation; 0: not known
};

void add_learning(Learning& sum, const RunFacts& run) {
  sum.train_accuracy += run.epochs.back().train_accuracy;
  sum.val_accuracy += run.epochs.back().val_accuracy;
  sum.classes = run.classes, sum.examples = run.validation_samples;
  const auto losses = losses_of(run);
  if (sum.runs++ == 0) sum.val_loss = losses;
  if (sum.runs == 1) return;
  std::erase_if(sum.val_loss,
                [&](const auto& e) { return !losses.contains(e.first); });
  for (auto& [epoch, loss] : sum.val_loss) loss += losses.at(epoch);
}

Learning learning_of(const Study& study, const StudyPoint& point) {
  Learning out;
  for (const std::size_t i : point.runs) {
    const RunFacts& run = study.runs[i];
    if (ended(run))
      add_learning(out, run);
    else if (losses_of(run).size() > 0)
      ++out.not_ended;
  }
  const auto n = static_cast<double>(out.runs);
  out.train_accuracy /= n, out.val_accuracy /= n;
  for (auto& [epoch, loss] : out.val_loss) loss /= n;
  return out;
}

std::vector<Column> columns() {
  const auto percent = [](const char* name, const char* title) {
    return Column{
        .name = name, .title = title, .unit = "(%)", .show = scaled(100, 2)};
  };
  const auto loss = [](const char* name, const char* title) {
    return Column{.name = name, .title = title, .show = scaled(1, 4)};
  };
  return {{.name = "model"},
          {.name = "strategy"},
          {.name = "arm"},
          {.name = "ranks"},
          {.name = "global_batch", .title = "batch"},
          {.name = "runs"},
          {.name = "epochs"},
          percent("train_accuracy", "train acc."),
          percent("val_accuracy", "val. acc."),
          percent("gap", "gap"),
          {.name = "turn_epoch", .title = "turns at epoch"},
          percent("noise", "noise"),
          loss("lowest_val_loss", "lowest val. loss"),
          loss("final_val_loss", "final"),
          {.name = "note"}};
}

std::string learning_note(const Learning& l, bool turned) {
  std::string out = turned ? "" : "it did not turn";
  if (!above_chance(l.val_accuracy, l.classes, l.examples))
    out += fmt::format("{}no better than a guess", out.empty() ? "" : "; ");
  if (l.not_ended > 0)
    out += fmt::format("{}{} more run(s) lost their numbers",
                       out.empty() ? "" : "; ", l.not_ended);
  return out;
}

}  // namespace

Table overfitting_table(const Study& study) {
  Table table{.verb = "report", .columns = columns()};
  for (const StudyPoint& p : study.points) {
    const Learning l = learning_of(study, p);
    if (l.val_loss.size() < 2) continue;
    const auto lowest = std::ranges::min_element(
        l.val_loss, {}, [](const auto& e) { return e.second; });
    const auto& [last, final_loss] = *l.val_loss.rbegin();
    const double noise = accuracy_noise(l.val_accuracy, l.examples);
    table.add({p.model, p.strategy, p.arm, p.ranks, p.global_batch, l.runs,
               last, l.train_accuracy, l.val_accuracy,
               l.train_accuracy - l.val_accuracy, lowest->first,
               l.examples > 0 ? cell(noise) : Cell(), lowest->second,
               final_loss, learning_note(l, lowest->first != last)});
  }
  return table;
}

}  // namespace lockstep
