// SPDX-License-Identifier: Apache-2.0
// The few special functions the estimators need, and the random numbers they
// draw: the same on every platform, which <random>'s distributions are not.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace lockstep {

// psi(x), the derivative of ln Gamma, for x > 0.
double digamma(double x);

// psi(1) ... psi(n) at [1] ... [n]: neighbour counts are whole numbers.
std::vector<double> digamma_table(std::size_t n);

// P(X >= x) for a chi-square variable.
double chi_square_survival(double x, double degrees_of_freedom);

// Of a normal variable's values, 95 % lie less than so many standard deviations
// above the mean: a 90 % interval reaches as far to both sides.
constexpr double kNormal95 = 1.6448536269514722;

// Whole number in [0, n), without bias.
std::size_t draw_below(std::mt19937_64& random, std::size_t n);
// In [0, 1).
double draw_uniform(std::mt19937_64& random);
double draw_normal(std::mt19937_64& random);

template <class T>
void shuffle(std::span<T> values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[draw_below(random, i)]);
}

// Value below which a share of the values lies, linear between the two next
// to it. Not empty.
double quantile(std::vector<double> values, double share);
double mean(std::span<const double> values);
// Of the sample, n - 1; NaN for fewer than two values.
double standard_deviation(std::span<const double> values);
// Of the mean: standard deviation / sqrt(n).
double standard_error(std::span<const double> values);

}  // namespace lockstep
