// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep {
namespace {

// Below this share of a step nothing but compute is worth naming.
constexpr double kWorthNaming = 0.02;

}  // namespace

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::scales:
      return "scales";
    case Verdict::fades:
      return "fades";
    case Verdict::chokes:
      return "chokes";
  }
  return "";
}

std::string_view word(Cause cause) {
  switch (cause) {
    case Cause::compute:
      return "compute";
    case Cause::communication:
      return "communication";
    case Cause::latency:
      return "latency";
    case Cause::input:
      return "input";
    case Cause::imbalance:
      return "imbalance";
    case Cause::memory:
      return "memory";
  }
  return "";
}

Verdict verdict_of(double speedup, double ranks) {
  if (speedup >= kScalesEfficiency * ranks) return Verdict::scales;
  return speedup > kFasterSpeedup ? Verdict::fades : Verdict::chokes;
}

Cause cause_of(const Losses& l, double step_s) {
  const std::array<std::pair<double, Cause>, 5> all = {
      {{l.compute_s, Cause::compute},
       {l.communication_s, Cause::communication},
       {l.latency_s, Cause::latency},
       {l.input_s, Cause::input},
       {l.imbalance_s, Cause::imbalance}}};
  const auto worst = std::ranges::max_element(
      all, {}, [](const auto& item) { return item.first; });
  return worst->first > kWorthNaming * step_s ? worst->second : Cause::compute;
}

}  // namespace lockstep
