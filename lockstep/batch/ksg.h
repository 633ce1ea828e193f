// SPDX-License-Identifier: Apache-2.0
// Mutual information of two continuous variables from nearest neighbours:
// Kraskov, Stoegbauer and Grassberger 2004, algorithm 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// Divides by the population standard deviation, without centring, and adds
// 1e-10 max(1, mean |x|) of noise: equal values would count as neighbours of
// each other. A constant variable stays as it is, but for the noise.
// Error{Fault::data} for a value that is not finite.
std::vector<double> scale_and_jitter(std::span<const double> values,
                                     std::uint64_t seed);

// In nats, not clipped: may be below zero. Error{Fault::data} for lists of
// different length or no more than k points; k is at most 64. 10,000 points
// take about ten milliseconds.
double ksg_information(std::span<const double> x, std::span<const double> y,
                       int k = 3);

}  // namespace lockstep
