// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// H(Y) of equally frequent classes; unknown classes: what the best net knew.
double label_entropy_of(const BatchRuns& runs) {
  if (runs.classes > 0) return std::log(static_cast<double>(runs.classes));
  double best = 0;
  for (const BatchRun& run : runs.runs)
    best = std::max(best, information_curve(run).last());
  return best;
}

double mean_final(const Runs& runs) {
  std::vector<double> last;
  for (const BatchRun* run : runs)
    last.push_back(information_curve(*run).last());
  return mean(last);
}

double mean_rate(const Runs& runs, double target, Crossing crossing) {
  std::vector<double> rate;
  for (const BatchRun* run : runs) {
    const auto t = time_to(information_curve(*run), target, crossing);
    rate.push_back(t && !run->diverged ? target / *t : 0);
  }
  return mean(rate);
}

}  // namespace

Envelope information_curve(const BatchRun& run) {
  std::vector<double> time_s, nats;
  for (const Evaluation& e : run.curve) {
    time_s.push_back(e.time_s);
    nats.push_back(e.nats);
  }
  if (run.diverged && nats.empty()) return {{0}, {0}};
  try {
    return monotone_envelope(time_s, nats);
  } catch (const Error& e) {
    throw Error(e.fault(), run.name, e.what());
  }
}

BatchCandidate candidate(const Runs& runs) {
  BatchCandidate out{.batch = runs.front()->batch, .runs = {}};
  for (const BatchRun* run : runs) {
    out.runs.push_back(information_curve(*run));
    out.diverged = out.diverged || run->diverged;
  }
  return out;
}

double best_accuracy(const BatchRun& run) {
  double best = 0;
  for (const Evaluation& e : run.curve) best = std::fmax(best, e.accuracy);
  return best;
}

CriterionOptions criterion_options(const BatchRuns& runs,
                                   const CompareOptions& options) {
  CriterionOptions out;
  out.label_entropy = label_entropy_of(runs);
  out.delta = options.delta;
  out.crossing = options.crossing;
  if (options.target_accuracy) {
    if (runs.classes < 2)
      throw Error(Fault::config, "--accuracy",
                  "the number of classes is not known", "add --classes");
    out.target_nats =
        information_of_accuracy(*options.target_accuracy, runs.classes);
    if (!(*out.target_nats > 0))
      throw Error(Fault::config, "--accuracy",
                  fmt::format("{:g} is no more than chance with {} classes",
                              *options.target_accuracy, runs.classes));
  }
  double best = 0;
  for (const BatchRun& run : runs.runs)
    best = std::max(best, best_accuracy(run));
  if (runs.eval_examples > 0 && runs.classes > 1)
    out.sampling_se =
        fano_standard_error(best, runs.classes, runs.eval_examples);
  return out;
}

std::vector<Runs> tune_learning_rate(const RunsBySize& sizes,
                                     const CriterionOptions& options,
                                     std::vector<std::string>& notes) {
  double best_final = 0;
  for (const auto& [batch, rates] : sizes)
    for (const auto& [lr, runs] : rates)
      best_final = std::max(best_final, mean_final(runs));
  const double target =
      options.target_nats.value_or((1 - options.delta) * best_final);
  std::vector<Runs> out;
  for (const auto& [batch, rates] : sizes) {
    const auto best =
        std::ranges::max_element(rates, {}, [&](const auto& entry) {
          return std::pair(mean_rate(entry.second, target, options.crossing),
                           mean_final(entry.second));
        });
    if (rates.size() > 1)
      notes.push_back(fmt::format("batch {:g}: best of {} learning rates, {:g}",
                                  batch, rates.size(), best->first));
    out.push_back(best->second);
  }
  return out;
}

}  // namespace lockstep
