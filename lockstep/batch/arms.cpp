// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// The runs of one batch and rate that end highest, and what their end is worth.
struct Best {
  double nats = 0, error = 0;
};

Best best_of(const RunsBySize& sizes, const BatchRuns& all) {
  Best out;
  for (const auto& [batch, rates] : sizes)
    for (const auto& [lr, runs] : rates) {
      std::vector<double> last;
      double accuracy = 0;
      for (const BatchRun* run : runs) {
        last.push_back(information_curve(*run).last());
        accuracy = std::max(accuracy, best_accuracy(*run));
      }
      if (mean(last) < out.nats) continue;
      out.nats = mean(last);
      out.error = information_error(accuracy, all.classes, all.eval_examples);
      if (last.size() > 1)
        out.error = std::max(out.error, standard_error(last));
    }
  return out;
}

std::string said(const Best& best) {
  return fmt::format("the best ends with {:.4f} nats, its error is {:.4f}",
                     best.nats, best.error);
}

bool has_choice(const Arms& arms) {
  for (const auto& [name, by_ranks] : arms)
    for (const auto& [ranks, sizes] : by_ranks)
      if (sizes.size() > 1) return true;
  return false;
}

}  // namespace

std::string place_of(const std::string& arm, std::int64_t ranks) {
  return fmt::format("{} device(s){}{}", ranks, arm.empty() ? "" : ", ", arm);
}

double information_error(double accuracy, std::int64_t classes,
                         std::int64_t examples) {
  if (classes < 2 || examples < 1) return 0;
  const double fano = fano_standard_error(accuracy, classes, examples);
  if (!can_correct_bias(examples, classes)) return fano;
  // 2 N times the plug-in is chi-square with (C - 1)^2 degrees of freedom.
  const double by_chance = std::sqrt(2.0) * static_cast<double>(classes - 1) /
                           (2 * static_cast<double>(examples));
  return std::max(fano, 2 * by_chance);
}

SortedArms sort_arms(const BatchRuns& runs) {
  Arms all;
  for (const BatchRun& run : runs.runs)
    all[run.arm][run.ranks][run.batch][std::isfinite(run.lr) ? run.lr : 0]
        .push_back(&run);
  if (!has_choice(all)) return {all, {}};
  SortedArms out;
  std::string nothing;
  for (const auto& [name, by_ranks] : all)
    for (const auto& [ranks, sizes] : by_ranks) {
      if (sizes.size() < 2) {
        out.left_out.push_back(fmt::format(
            "left out, nothing to choose from: batch {:g} alone on {}",
            sizes.begin()->first, place_of(name, ranks)));
        continue;
      }
      const Best best = best_of(sizes, runs);
      if (best.nats > best.error) {
        out.kept[name][ranks] = sizes;
        continue;
      }
      nothing = said(best);
      out.left_out.push_back(
          fmt::format("left out, no batch size learnt anything: {} ({})",
                      place_of(name, ranks), nothing));
    }
  if (out.kept.empty())
    throw Error(Fault::data, "batch",
                "no batch size learnt anything: " + nothing,
                "train longer, or on more data");
  return out;
}

}  // namespace lockstep
