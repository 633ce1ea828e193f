// SPDX-License-Identifier: Apache-2.0
// One word for going from 1 to N ranks, and the cause of what is lost.
#pragma once

#include <string_view>

namespace lockstep {

// scales: efficiency of 0.80 or more. fades: faster than 1.05 times one rank.
// chokes: no faster than that.
enum class Verdict { scales, fades, chokes };
enum class Cause { compute, communication, latency, input, imbalance, memory };

constexpr double kScalesEfficiency = 0.80;
constexpr double kFasterSpeedup = 1.05;

std::string_view word(Verdict verdict);
std::string_view word(Cause cause);

Verdict verdict_of(double speedup, double ranks);

// Seconds of a step beyond perfect scaling, by what took them.
struct Losses {
  double compute_s = 0, communication_s = 0, latency_s = 0, input_s = 0,
         imbalance_s = 0;
};
// The largest; compute when next to nothing is lost.
Cause cause_of(const Losses& losses, double step_s);

}  // namespace lockstep
