// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_interval.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

// Fitted on rows held back with their model and GPU; docs/numbers.md.
constexpr double kFloor = 0.02;    // ln(value)
constexpr double kPerLoss = 0.40;  // of the predicted ln(loss)
constexpr double kNewModel = 0.05, kNewHost = 0.05, kNewSoftware = 0.05;
constexpr double kPerDoubt = 0.02;
constexpr double kWidest = 1.5;

}  // namespace

double log_spread(const TableFacts& f, const TableForecast& forecast) {
  const double loss = std::max(0.0, -std::log(forecast.efficiency));
  double spread = kFloor + kPerLoss * loss + kPerDoubt * f.doubts;
  if (!forecast.known_model) spread += kNewModel;
  if (!forecast.known_host) spread += kNewHost;
  if (!forecast.known_software) spread += kNewSoftware;
  return std::min(spread, kWidest);
}

}  // namespace lockstep
