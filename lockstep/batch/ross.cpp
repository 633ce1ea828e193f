// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/ross.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Distance to the k-th nearest of sorted values, itself left out.
double kth_distance(std::span<const double> sorted, std::size_t at, int k) {
  std::size_t left = at, right = at + 1;
  double distance = 0;
  for (int i = 0; i < k; ++i) {
    const double dl = left > 0 ? sorted[at] - sorted[left - 1]
                               : std::numeric_limits<double>::infinity();
    const double dr = right < sorted.size()
                          ? sorted[right] - sorted[at]
                          : std::numeric_limits<double>::infinity();
    distance = std::min(dl, dr);
    if (dl <= dr)
      --left;
    else
      ++right;
  }
  return distance;
}

// How many of the first `limit` steps away from a point are within; they are
// within up to some step and never after. Strides double until one is not: the
// answer is small beside the limit.
template <class Within>
std::size_t count_steps(std::size_t limit, const Within& within) {
  std::size_t inside = 0, outside = 1;
  while (outside <= limit && within(outside)) {
    inside = outside;
    outside *= 2;
  }
  outside = std::min(outside, limit + 1);
  while (outside - inside > 1) {
    const std::size_t middle = (inside + outside) / 2;
    (within(middle) ? inside : outside) = middle;
  }
  return inside;
}

// Values strictly nearer than `radius`, itself and its equals counted.
std::size_t nearer_than(std::span<const double> sorted, std::size_t at,
                        double radius) {
  const double centre = sorted[at];
  const auto near = [&](double distance) {
    return distance < radius || distance == 0;
  };
  return 1 +
         count_steps(
             at, [&](std::size_t i) { return near(centre - sorted[at - i]); }) +
         count_steps(sorted.size() - 1 - at, [&](std::size_t i) {
           return near(sorted[at + i] - centre);
         });
}

std::map<int, std::int64_t> count_labels(std::span<const int> labels) {
  std::map<int, std::int64_t> counts;
  for (const int label : labels) ++counts[label];
  return counts;
}

// The values kept, in order, and where those of each label lie among them.
struct Grouped {
  std::vector<double> all;
  std::vector<std::vector<double>> values;      // by label
  std::vector<std::vector<std::size_t>> place;  // in `all`
};

Grouped group(std::span<const double> sorted,
              std::span<const std::size_t> order, std::span<const int> labels) {
  const auto labels_used =
      static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1;
  std::vector<std::size_t> count(labels_used);
  for (const int label : labels) ++count[static_cast<std::size_t>(label)];
  Grouped g{{},
            std::vector<std::vector<double>>(labels_used),
            std::vector<std::vector<std::size_t>>(labels_used)};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[order[i]]);
    if (count[label] < 2) continue;
    g.values[label].push_back(sorted[i]);
    g.place[label].push_back(g.all.size());
    g.all.push_back(sorted[i]);
  }
  return g;
}

void require_labels(std::span<const int> labels, std::size_t values) {
  if (labels.size() != values)
    throw Error(Fault::data, "mutual information",
                fmt::format("{} labels for {} values", labels.size(), values));
  if (std::ranges::any_of(labels, [](int label) { return label < 0; }))
    throw Error(Fault::data, "mutual information", "a label is negative");
}

}  // namespace

RossEstimator::RossEstimator(std::span<const double> values, int k)
    : k_(k), order_(values.size()), psi_(digamma_table(values.size())) {
  check(k >= 1, "a neighbour is at least the first");
  if (values.empty())
    throw Error(Fault::data, "mutual information", "there are no points");
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    throw Error(Fault::data, "mutual information",
                "a value is not finite (a run that diverged?)",
                "leave such runs out");
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_,
                    [&](auto a, auto b) { return values[a] < values[b]; });
  for (const std::size_t i : order_) sorted_.push_back(values[i]);
}

double RossEstimator::information(std::span<const int> labels) const {
  require_labels(labels, sorted_.size());
  const Grouped g = group(sorted_, order_, labels);
  if (g.all.empty())
    throw Error(Fault::data, "mutual information",
                "every point has a label of its own",
                "at least two runs of each setting are needed");
  double sum = 0;
  for (std::size_t label = 0; label < g.values.size(); ++label) {
    const auto& own = g.values[label];
    if (own.empty()) continue;
    const int k = std::min(k_, static_cast<int>(own.size()) - 1);
    const double constant =
        psi_[static_cast<std::size_t>(k)] - psi_[own.size()];
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double radius = kth_distance(own, i, k);
      sum += constant - psi_[nearer_than(g.all, g.place[label][i], radius)];
    }
  }
  return psi_[g.all.size()] + sum / static_cast<double>(g.all.size());
}

double ross_information(std::span<const int> labels,
                        std::span<const double> values, int k) {
  return std::max(RossEstimator(values, k).information(labels), 0.0);
}

double gaussian_information(std::span<const int> labels,
                            std::span<const double> values) {
  require_labels(labels, values.size());
  std::map<int, std::pair<double, double>> sums;  // sum, count
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[labels[i]].first += values[i];
    ++sums[labels[i]].second;
  }
  const double centre = mean(values);
  double between = 0, total = 0;
  for (const auto& [label, s] : sums) {
    const double distance = s.first / s.second - centre;
    between += s.second * distance * distance;
  }
  for (const double v : values) total += (v - centre) * (v - centre);
  return total > 0 ? -0.5 * std::log(std::max(1 - between / total, 0.0)) : 0;
}

double entropy_of_labels(std::span<const int> labels) {
  double sum = 0;
  for (const auto& [label, count] : count_labels(labels)) {
    const double p =
        static_cast<double>(count) / static_cast<double>(labels.size());
    sum -= p * std::log(p);
  }
  return sum;
}

}  // namespace lockstep
