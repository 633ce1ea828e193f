// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/lr_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Of an average that forgets one step in twenty, without its first bias.
constexpr double kMemory = 0.95;

std::vector<double> smoothed(std::span<const double> loss) {
  std::vector<double> out;
  double sum = 0, weight = 0;
  for (const double x : loss) {
    if (!std::isfinite(x)) break;
    sum = kMemory * sum + (1 - kMemory) * x;
    weight = kMemory * weight + (1 - kMemory);
    out.push_back(sum / weight);
  }
  return out;
}

// Slope over the logarithm of the rate, across a tenth of the steps. The first
// tenth does not count: a net just made falls at any rate.
std::size_t steepest(std::span<const double> lr, std::span<const double> smooth,
                     std::size_t end) {
  const std::size_t reach = std::max<std::size_t>(1, smooth.size() / 20);
  const std::size_t begin = std::max(reach, smooth.size() / 10);
  std::size_t best = 0;
  double least = 0;
  for (std::size_t i = begin; i + reach <= end; ++i) {
    const double slope = (smooth[i + reach] - smooth[i - reach]) /
                         std::log(lr[i + reach] / lr[i - reach]);
    if (slope < least) least = slope, best = i;
  }
  return best;
}

}  // namespace

RangeResult judge_range(std::span<const double> lr,
                        std::span<const double> loss) {
  check(lr.size() == loss.size(), "a loss for every rate");
  RangeResult out;
  out.smooth = smoothed(loss);
  const std::vector<double>& s = out.smooth;
  if (s.size() < 20)
    throw Error(
        Fault::data, "range test",
        fmt::format("{} steps with a loss; it takes 20 or more", s.size()),
        "raise train.steps, or begin at a lower optim.range_from");
  const auto lowest =
      static_cast<std::size_t>(std::ranges::min_element(s) - s.begin());
  const std::size_t at = steepest(lr, s, lowest);
  if (at == 0)
    throw Error(Fault::data, "range test", "the loss never falls",
                "begin at a lower optim.range_from");
  out.steepest_lr = lr[at];
  out.lowest_lr = lr[lowest];
  const double limit = s[lowest] + 2 * (s.front() - s[lowest]);
  for (std::size_t i = lowest; i < loss.size(); ++i)
    if (i >= s.size() || s[i] > limit) {
      out.diverged_lr = lr[i];
      break;
    }
  return out;
}

}  // namespace lockstep
