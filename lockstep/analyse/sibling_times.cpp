// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/sibling_times.h"

#include <cmath>

namespace lockstep {
namespace {

bool can_lend(const EpochTimes& from, const EpochTimes& to) {
  return from.timed && from.settings == to.settings &&
         (to.cut_short ? from.end_s.size() >= to.end_s.size()
                       : from.end_s.size() == to.end_s.size());
}

}  // namespace

std::string settings_but_seed(const RunConfig& config) {
  Json json = to_json(config);
  json["train"].erase("seed");
  return json.dump();
}

std::optional<EpochTimes> borrowed(const EpochTimes& run,
                                   std::span<const EpochTimes> all) {
  EpochTimes out = run;
  out.end_s.assign(run.end_s.size(), 0);
  out.step_s = 0;
  double lenders = 0, stepped = 0;
  for (const EpochTimes& other : all) {
    if (!can_lend(other, run)) continue;
    lenders += 1;
    for (std::size_t i = 0; i < out.end_s.size(); ++i)
      out.end_s[i] += other.end_s[i];
    // A record may come without its steps.
    if (std::isfinite(other.step_s)) out.step_s += other.step_s, stepped += 1;
  }
  if (lenders == 0) return std::nullopt;
  for (double& end : out.end_s) end /= lenders;
  out.step_s = stepped > 0 ? out.step_s / stepped : std::nan("");
  return out;
}

}  // namespace lockstep
