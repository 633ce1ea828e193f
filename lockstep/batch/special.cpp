// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/special.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Regularised lower incomplete gamma by its series: fast for x < a + 1.
double gamma_p_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < 10000 && term > sum * 1e-17; ++n)
    sum += term *= x / (a + n);
  return sum * std::exp(-x + a * std::log(x) - std::lgamma(a));
}

// Regularised upper incomplete gamma by Lentz's continued fraction, x >= a + 1.
double gamma_q_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int n = 1; n < 10000; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return std::exp(-x + a * std::log(x) - std::lgamma(a)) * h;
}

}  // namespace

double digamma(double x) {
  check(x > 0, "digamma is asked for a positive number");
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  const double r = 1 / (x * x);
  // Asymptotic series with Bernoulli's numbers; the next term is below 1e-16.
  const double tail =
      r *
      (1. / 12 -
       r * (1. / 120 -
            r * (1. / 252 - r * (1. / 240 - r * (1. / 132 - r * (691. / 32760 -
                                                                 r / 12))))));
  return shift + std::log(x) - 0.5 / x - tail;
}

std::vector<double> digamma_table(std::size_t n) {
  std::vector<double> table(n + 1, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 1; i <= n; ++i)
    table[i] = digamma(static_cast<double>(i));
  return table;
}

double chi_square_survival(double x, double degrees_of_freedom) {
  check(degrees_of_freedom > 0, "chi-square has degrees of freedom");
  if (x <= 0) return 1;
  const double a = degrees_of_freedom / 2, half = x / 2;
  return half < a + 1 ? 1 - gamma_p_series(a, half) : gamma_q_fraction(a, half);
}

std::size_t draw_below(std::mt19937_64& random, std::size_t n) {
  check(n > 0, "a draw has at least one outcome");
  // Draws from the uneven rest of the range are thrown away.
  const std::uint64_t limit = -static_cast<std::uint64_t>(n) % n;
  std::uint64_t draw = random();
  while (draw < limit) draw = random();
  return static_cast<std::size_t>(draw % n);
}

double draw_uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

double draw_normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - draw_uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * draw_uniform(random));
}

double quantile(std::vector<double> values, double share) {
  check(!values.empty(), "a quantile is of at least one value");
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  const double part = at - static_cast<double>(below);
  if (part == 0) return values[below];
  return values[below] + part * (values[below + 1] - values[below]);
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double centre = mean(values);
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double standard_error(std::span<const double> values) {
  return standard_deviation(values) /
         std::sqrt(static_cast<double>(values.size()));
}

}  // namespace lockstep
