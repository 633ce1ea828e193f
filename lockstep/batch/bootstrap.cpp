// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/bootstrap.h"

#include <vector>

#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

Interval interval_of(const std::vector<double>& draws, double level) {
  return {quantile(draws, 0.5 - level / 2), quantile(draws, 0.5 + level / 2)};
}

// Where each example falls in a confusion matrix laid out flat.
std::vector<std::size_t> cells(std::span<const int> labels,
                               std::span<const int> predictions, int classes) {
  std::vector<std::size_t> out(labels.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::size_t>(labels[i]) *
                 static_cast<std::size_t>(classes) +
             static_cast<std::size_t>(predictions[i]);
  return out;
}

}  // namespace

PairedDifference paired_bootstrap(const PairedPredictions& pair,
                                  const BootstrapOptions& options) {
  const Confusion a = count_confusion(pair.labels, pair.first, pair.classes);
  const Confusion b = count_confusion(pair.labels, pair.second, pair.classes);
  const auto cell_a = cells(pair.labels, pair.first, pair.classes);
  const auto cell_b = cells(pair.labels, pair.second, pair.classes);
  std::mt19937_64 random(options.seed);
  std::vector<double> draws;
  Confusion drawn_a = a, drawn_b = b;
  for (int r = 0; r < options.resamples; ++r) {
    drawn_a.count.assign(a.count.size(), 0);
    drawn_b.count.assign(b.count.size(), 0);
    for (std::size_t i = 0; i < cell_a.size(); ++i) {
      const std::size_t at = draw_below(random, cell_a.size());
      ++drawn_a.count[cell_a[at]];
      ++drawn_b.count[cell_b[at]];
    }
    draws.push_back(miller_madow_information(drawn_a) -
                    miller_madow_information(drawn_b));
  }
  PairedDifference out;
  out.nats = miller_madow_information(a) - miller_madow_information(b);
  out.se = standard_deviation(draws);
  out.interval = interval_of(draws, options.level);
  out.differ = out.interval.low > 0 || out.interval.high < 0;
  return out;
}

Interval bootstrap_mean(std::span<const double> values,
                        const BootstrapOptions& options) {
  if (values.empty())
    throw Error(Fault::data, "runs", "there is nothing to take the mean of");
  if (values.size() == 1) return {values[0], values[0]};
  std::mt19937_64 random(options.seed);
  std::vector<double> draws, some(values.size());
  for (int r = 0; r < options.resamples; ++r) {
    for (double& v : some) v = values[draw_below(random, values.size())];
    draws.push_back(mean(some));
  }
  return interval_of(draws, options.level);
}

}  // namespace lockstep
