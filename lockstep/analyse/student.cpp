// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/student.h"

#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Continued fraction of the incomplete beta function, by Lentz's method
// (Numerical Recipes, 6.4).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    h *= d * c;
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return h;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
               a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_cdf(double t, double freedom) {
  const double tail =
      0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_quantile(double share, double freedom) {
  check(share > 0 && share < 1 && freedom > 0, "a share within (0, 1)");
  if (share < 0.5) return -student_quantile(1 - share, freedom);
  double low = 0, high = 1;
  while (student_cdf(high, freedom) < share && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (student_cdf(middle, freedom) < share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace lockstep
