// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

void require_scores(const ScoredLabels& s) {
  const auto classes = static_cast<std::size_t>(std::max(s.classes, 0));
  if (classes < 2)
    throw Error(Fault::data, "classes", "information needs at least two");
  if (s.labels.empty())
    throw Error(Fault::data, "logits", "there are no examples");
  if (s.logits.size() != s.labels.size() * classes)
    throw Error(Fault::data, "logits",
                fmt::format("{} values for {} examples of {} classes",
                            s.logits.size(), s.labels.size(), s.classes));
  for (std::size_t i = 0; i < s.labels.size(); ++i)
    if (s.labels[i] < 0 || s.labels[i] >= s.classes)
      throw Error(Fault::data, fmt::format("example {}", i),
                  fmt::format("class {} of {}", s.labels[i], s.classes));
  if (!std::ranges::all_of(s.logits, [](double v) { return std::isfinite(v); }))
    throw Error(Fault::data, "logits", "hold a value that is not finite",
                "a net that diverged carries no information");
}

std::span<const double> row(const ScoredLabels& s, std::size_t i) {
  const auto classes = static_cast<std::size_t>(s.classes);
  return s.logits.subspan(i * classes, classes);
}

// -ln q(label) of one example at inverse temperature `sharpness`.
double loss(std::span<const double> z, int label, double sharpness) {
  const double top = *std::ranges::max_element(z);
  double sum = 0;
  for (const double v : z) sum += std::exp(sharpness * (v - top));
  return std::log(sum) - sharpness * (z[static_cast<std::size_t>(label)] - top);
}

// Derivative of the mean loss by sharpness: E_q[z] - z_label. It only rises.
double slope(const ScoredLabels& s, double sharpness) {
  double total = 0;
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    const auto z = row(s, i);
    const double top = *std::ranges::max_element(z);
    double sum = 0, weighted = 0;
    for (const double v : z) {
      const double q = std::exp(sharpness * (v - top));
      sum += q;
      weighted += q * v;
    }
    total += weighted / sum - z[static_cast<std::size_t>(s.labels[i])];
  }
  return total / static_cast<double>(s.labels.size());
}

std::vector<double> losses(const ScoredLabels& s, double temperature) {
  std::vector<double> out;
  out.reserve(s.labels.size());
  for (std::size_t i = 0; i < s.labels.size(); ++i)
    out.push_back(loss(row(s, i), s.labels[i], 1 / temperature));
  return out;
}

double entropy_of(std::span<const int> labels, int classes) {
  std::vector<double> count(static_cast<std::size_t>(classes));
  for (const int label : labels) ++count[static_cast<std::size_t>(label)];
  double sum = 0;
  for (const double n : count) {
    const double p = n / static_cast<double>(labels.size());
    if (p > 0) sum -= p * std::log(p);
  }
  return sum;
}

struct Half {
  std::vector<double> logits;
  std::vector<int> labels;
  int classes;
  ScoredLabels view() const { return {logits, labels, classes}; }
};

Half every_second(const ScoredLabels& s, std::size_t first) {
  Half half{{}, {}, s.classes};
  for (std::size_t i = first; i < s.labels.size(); i += 2) {
    const auto z = row(s, i);
    half.logits.insert(half.logits.end(), z.begin(), z.end());
    half.labels.push_back(s.labels[i]);
  }
  return half;
}

}  // namespace

double cross_entropy(const ScoredLabels& scored, double temperature) {
  require_scores(scored);
  if (!(temperature > 0))
    throw Error(Fault::data, "temperature",
                fmt::format("{} is not positive", temperature));
  return mean(losses(scored, temperature));
}

double fit_temperature(const ScoredLabels& scored) {
  require_scores(scored);
  double low = std::log(1e-3), high = std::log(1e3);
  if (slope(scored, std::exp(low)) >= 0) return 1e3;
  if (slope(scored, std::exp(high)) <= 0) return 1e-3;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (slope(scored, std::exp(middle)) < 0 ? low : high) = middle;
  }
  return std::exp(-0.5 * (low + high));
}

CrossEntropyInformation cross_entropy_information(const ScoredLabels& scored) {
  require_scores(scored);
  if (scored.labels.size() < 4)
    throw Error(Fault::data, "logits",
                "too few examples to fit a temperature on one half");
  const double entropy = entropy_of(scored.labels, scored.classes);
  const std::vector<double> loss_of = losses(scored, 1);
  const Half fit = every_second(scored, 0), held_out = every_second(scored, 1);
  CrossEntropyInformation out;
  out.nats = entropy - mean(loss_of);
  out.se = standard_error(loss_of);
  out.temperature = fit_temperature(fit.view());
  out.corrected_nats =
      entropy - cross_entropy(held_out.view(), out.temperature);
  return out;
}

}  // namespace lockstep
