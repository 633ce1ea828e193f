// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_interval.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

// The 90 % quantile of |ln(measured / predicted)| of rows held back with their
// model and GPU, as a linear function of what is known beforehand.
constexpr double kFloor = 0.023;
constexpr double kPerLoss = 0.45;       // of the predicted ln(loss)
constexpr double kPerDoubling = 0.008;  // of GPUs
constexpr double kNewModel = 0.20, kNewHost = 0.30, kNewSoftware = 0.10;
constexpr double kSlowHalfNorm = 0.15;
constexpr double kPerDoubt = 0.01;
constexpr double kWidest = 1.5;

}  // namespace

double spread_scale(const TableFacts& f, const TableForecast& forecast) {
  const double loss = std::max(0.0, -std::log(forecast.efficiency));
  double scale = kFloor + kPerLoss * loss + kPerDoubt * f.doubts +
                 kPerDoubling * std::log2(static_cast<double>(f.gpus));
  if (!forecast.known_model) scale += kNewModel;
  if (!forecast.known_host) scale += kNewHost;
  if (!forecast.known_software) scale += kNewSoftware;
  if (f.slow_half_norm) scale += kSlowHalfNorm;
  return scale;
}

double log_spread(const TableFacts& facts, const TableForecast& forecast,
                  const TableConstants& with) {
  return std::min(with.spread * spread_scale(facts, forecast), kWidest);
}

}  // namespace lockstep
