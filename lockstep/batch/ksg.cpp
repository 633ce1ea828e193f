// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/ksg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/batch/plane_tree.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

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
  check(k >= 1 && k <= 64, "a neighbour is one of the first");
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
  const PlaneTree tree(x, y);
  std::vector<double> sorted_x(x.begin(), x.end()),
      sorted_y(y.begin(), y.end());
  std::ranges::sort(sorted_x);
  std::ranges::sort(sorted_y);
  const std::vector<double> psi = digamma_table(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [px, py] = tree.points()[i];
    const double radius = tree.neighbour_distance(i, k);
    sum += psi[count_within(sorted_x, px, radius) + 1] +
           psi[count_within(sorted_y, py, radius) + 1];
  }
  const double n = static_cast<double>(x.size());
  return psi[x.size()] + digamma(k) - sum / n;
}

}  // namespace lockstep
