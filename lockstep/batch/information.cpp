// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/information.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct Margins {
  std::vector<double> rows, columns;
  double total = 0;
};

Margins margins(const Confusion& c) {
  const auto n = static_cast<std::size_t>(c.classes);
  check(c.count.size() == n * n, "a confusion matrix is square");
  Margins m{std::vector<double>(n), std::vector<double>(n), 0};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto v = static_cast<double>(c.count[i * n + j]);
      m.rows[i] += v;
      m.columns[j] += v;
      m.total += v;
    }
  if (m.total <= 0)
    throw Error(Fault::data, "confusion matrix", "holds no examples");
  return m;
}

std::int64_t filled(std::span<const double> values) {
  return std::ranges::count_if(values, [](double v) { return v > 0; });
}

// Calls use(p, ln(p / (p_row p_column))) for every cell that is not empty.
template <class Use>
void for_each_cell(const Confusion& c, const Use& use) {
  const Margins m = margins(c);
  const auto n = static_cast<std::size_t>(c.classes);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto v = static_cast<double>(c.count[i * n + j]);
      if (v > 0)
        use(v / m.total, std::log(v * m.total / (m.rows[i] * m.columns[j])));
    }
}

double minus_p_log_p(double p) { return p > 0 ? -p * std::log(p) : 0; }

void require_accuracy(double value) {
  if (!(value >= 0 && value <= 1))
    throw Error(Fault::data, "accuracy",
                fmt::format("{} is not a share between 0 and 1", value));
}

void require_classes(std::int64_t classes) {
  if (classes < 2)
    throw Error(Fault::data, "classes",
                fmt::format("{} class: labels carry no information", classes),
                "information needs at least two classes");
}

}  // namespace

Confusion count_confusion(std::span<const int> labels,
                          std::span<const int> predictions, int classes) {
  require_classes(classes);
  if (labels.size() != predictions.size())
    throw Error(Fault::data, "predictions",
                fmt::format("{} predictions for {} labels", predictions.size(),
                            labels.size()));
  if (labels.empty())
    throw Error(Fault::data, "predictions", "there are no examples");
  const auto n = static_cast<std::size_t>(classes);
  Confusion c{classes, std::vector<std::int64_t>(n * n)};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes || predictions[i] < 0 ||
        predictions[i] >= classes)
      throw Error(Fault::data, fmt::format("example {}", i),
                  fmt::format("class {} predicted as {} of {} classes",
                              labels[i], predictions[i], classes));
    ++c.count[static_cast<std::size_t>(labels[i]) * n +
              static_cast<std::size_t>(predictions[i])];
  }
  return c;
}

std::int64_t num_examples(const Confusion& c) {
  return std::accumulate(c.count.begin(), c.count.end(), std::int64_t{0});
}

double accuracy(const Confusion& c) {
  const auto n = static_cast<std::size_t>(c.classes);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < n; ++i) right += c.count[i * n + i];
  return static_cast<double>(right) / margins(c).total;
}

double label_entropy(const Confusion& c) {
  const Margins m = margins(c);
  double sum = 0;
  for (const double v : m.rows) sum += minus_p_log_p(v / m.total);
  return sum;
}

double plug_in_information(const Confusion& c) {
  double sum = 0;
  for_each_cell(c, [&](double p, double log_ratio) { sum += p * log_ratio; });
  return std::max(sum, 0.0);  // rounding alone can take it below
}

double plug_in_standard_error(const Confusion& c) {
  double first = 0, second = 0;
  for_each_cell(c, [&](double p, double log_ratio) {
    first += p * log_ratio;
    second += p * log_ratio * log_ratio;
  });
  const double variance = std::max(second - first * first, 0.0);
  return std::sqrt(variance / static_cast<double>(num_examples(c)));
}

double miller_madow_information(const Confusion& c) {
  const Margins m = margins(c);
  const auto cells =
      std::ranges::count_if(c.count, [](std::int64_t v) { return v > 0; });
  const auto excess = cells - filled(m.rows) - filled(m.columns) + 1;
  return plug_in_information(c) - static_cast<double>(excess) / (2 * m.total);
}

double fano_information(double accuracy, std::int64_t classes, double entropy) {
  require_accuracy(accuracy);
  require_classes(classes);
  const double e = 1 - accuracy;
  return entropy - minus_p_log_p(e) - minus_p_log_p(1 - e) -
         e * std::log(static_cast<double>(classes - 1));
}

double information_of_accuracy(double accuracy, std::int64_t classes) {
  const double entropy = std::log(static_cast<double>(classes));
  const double nats = fano_information(accuracy, classes, entropy);
  return accuracy * static_cast<double>(classes) <= 1 ? 0 : nats;
}

double accuracy_standard_error(double accuracy, std::int64_t examples) {
  return std::sqrt(accuracy * (1 - accuracy) / static_cast<double>(examples));
}

double fano_standard_error(double accuracy, std::int64_t classes,
                           std::int64_t examples) {
  require_accuracy(accuracy);
  require_classes(classes);
  if (examples < 1)
    throw Error(Fault::data, "examples", "there are no examples");
  // One example more or less keeps the slope finite at accuracy 0 and 1.
  const double n = static_cast<double>(examples);
  const double a = std::clamp(accuracy, 0.5 / n, 1 - 0.5 / n);
  const double slope =
      std::log(a / (1 - a)) + std::log(static_cast<double>(classes - 1));
  return std::abs(slope) * accuracy_standard_error(a, examples);
}

double accuracy_of_information(double nats, std::int64_t classes) {
  double low = 1 / static_cast<double>(classes), high = 1;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (information_of_accuracy(middle, classes) < nats ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

IndependenceTest test_independence(const Confusion& c) {
  const Margins m = margins(c);
  const double g = 2 * m.total * plug_in_information(c);
  // A class that never occurs or is never predicted takes no part.
  const auto freedom = (filled(m.rows) - 1) * (filled(m.columns) - 1);
  if (freedom < 1) return {g, 0, 1};
  const auto degrees = static_cast<double>(freedom);
  return {g, degrees, chi_square_survival(g, degrees)};
}

bool can_correct_bias(std::int64_t examples, std::int64_t classes) {
  return examples >= 10 * classes * classes;
}

}  // namespace lockstep
