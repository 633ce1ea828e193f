// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/ksg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// The k smallest distances seen so far, in order. k is small.
class Nearest {
 public:
  explicit Nearest(std::size_t k) : distance_(k) { clear(); }
  void clear() {
    std::ranges::fill(distance_, std::numeric_limits<double>::infinity());
  }
  double farthest() const { return distance_.back(); }
  void offer(double d) {
    if (d >= distance_.back()) return;
    std::size_t at = distance_.size() - 1;
    for (; at > 0 && distance_[at - 1] > d; --at)
      distance_[at] = distance_[at - 1];
    distance_[at] = d;
  }

 private:
  std::vector<double> distance_;
};

// Points ordered by x; y beside it.
struct Plane {
  std::vector<double> x, y;
};

Plane ordered_by_x(std::span<const double> x, std::span<const double> y) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](auto a, auto b) { return x[a] < x[b]; });
  Plane plane;
  for (const std::size_t i : order) {
    plane.x.push_back(x[i]);
    plane.y.push_back(y[i]);
  }
  return plane;
}

// Distance to the k-th neighbour in the larger of |dx|, |dy|: walks away from
// i on both sides until dx alone is too far.
double neighbour_distance(const Plane& p, std::size_t i, Nearest& nearest) {
  nearest.clear();
  std::size_t left = i, right = i + 1;
  while (true) {
    const double dl = left > 0 ? p.x[i] - p.x[left - 1]
                               : std::numeric_limits<double>::infinity();
    const double dr = right < p.x.size()
                          ? p.x[right] - p.x[i]
                          : std::numeric_limits<double>::infinity();
    const double dx = std::min(dl, dr);
    if (dx >= nearest.farthest() || std::isinf(dx)) break;
    const std::size_t j = dl <= dr ? --left : right++;
    nearest.offer(std::max(dx, std::abs(p.y[j] - p.y[i])));
  }
  return nearest.farthest();
}

// How many sorted values lie strictly nearer to `centre` than `radius`,
// itself left out. The test is on the difference, so rounding cannot disagree
// with the distance it came from.
std::size_t count_within(std::span<const double> sorted, double centre,
                         double radius) {
  const auto low = std::ranges::partition_point(
      sorted, [&](double v) { return v < centre && centre - v >= radius; });
  const auto high = std::partition_point(low, sorted.end(), [&](double v) {
    return v <= centre || v - centre < radius;
  });
  const auto found = static_cast<std::size_t>(high - low);
  return found > 0 ? found - 1 : 0;
}

void require_points(std::span<const double> x, std::span<const double> y,
                    int k) {
  check(k >= 1, "a neighbour is at least the first");
  if (x.size() != y.size())
    throw Error(Fault::data, "mutual information",
                fmt::format("{} values against {}", x.size(), y.size()));
  if (x.size() <= static_cast<std::size_t>(k))
    throw Error(
        Fault::data, "mutual information",
        fmt::format("{} points, but {} neighbours are asked for", x.size(), k));
}

}  // namespace

std::vector<double> scale_and_jitter(std::span<const double> values,
                                     std::uint64_t seed) {
  if (values.empty())
    throw Error(Fault::data, "mutual information", "there are no points");
  for (const double v : values)
    if (!std::isfinite(v))
      throw Error(Fault::data, "mutual information",
                  "a value is not finite (a run that diverged?)",
                  "leave such runs out");
  const double n = static_cast<double>(values.size());
  const double centre = mean(values);
  double variance = 0;
  for (const double v : values) variance += (v - centre) * (v - centre) / n;
  const double scale = variance > 0 ? 1 / std::sqrt(variance) : 1;
  double size = 0;
  for (const double v : values) size += std::abs(v * scale) / n;
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (const double v : values)
    out.push_back(v * scale +
                  1e-10 * std::max(1.0, size) * draw_normal(random));
  return out;
}

double ksg_information(std::span<const double> x, std::span<const double> y,
                       int k) {
  require_points(x, y, k);
  const Plane plane = ordered_by_x(x, y);
  std::vector<double> sorted_y(y.begin(), y.end());
  std::ranges::sort(sorted_y);
  const std::vector<double> psi = digamma_table(x.size());
  Nearest nearest(static_cast<std::size_t>(k));
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double radius = neighbour_distance(plane, i, nearest);
    sum += psi[count_within(plane.x, plane.x[i], radius) + 1] +
           psi[count_within(sorted_y, plane.y[i], radius) + 1];
  }
  const double n = static_cast<double>(x.size());
  return psi[x.size()] + digamma(k) - sum / n;
}

}  // namespace lockstep
