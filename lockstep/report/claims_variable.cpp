// SPDX-License-Identifier: Apache-2.0
// Seed 000's conclusion, tried on models of chosen size: its two models differ
// in much more than parameters and computation.
#include <algorithm>
#include <cmath>

#include "lockstep/report/claim_points.h"
#include "lockstep/report/size_map.h"

namespace lockstep {

std::vector<Claim> variable_claims(const Study& study) {
  const std::string source = "seed 000, 7";
  const std::string claim =
      "large parameters with little computation choke; much computation with "
      "few parameters scales";
  const std::vector<SizeBoundary> all = boundaries_of(size_map_of(study));
  std::string text;
  for (const SizeBoundary& b : all)
    text += (text.empty() ? "" : " ") + sentence(b);
  if (all.empty())
    return {
        untested(source, claim, "no two sizes on one and on several devices")};
  const bool tried = std::ranges::any_of(all, [](const SizeBoundary& b) {
    return !std::isnan(b.scales_up_to) && !std::isnan(b.chokes_from);
  });
  const bool clear = std::ranges::all_of(all, &SizeBoundary::clear);
  if (!tried && clear) return {untested(source, claim, text)};
  return {judged(source, claim, text, clear)};
}

}  // namespace lockstep
