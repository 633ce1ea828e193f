// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {

Envelope monotone_envelope(std::span<const double> time_s,
                           std::span<const double> value) {
  if (time_s.size() != value.size())
    throw Error(
        Fault::data, "validation curve",
        fmt::format("{} times for {} values", time_s.size(), value.size()));
  Envelope out{{0}, {0}};
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!std::isfinite(value[i])) continue;
    if (!(time_s[i] > out.time_s.back()))
      throw Error(Fault::data, "validation curve",
                  fmt::format("time {} s comes after {} s", time_s[i],
                              out.time_s.back()));
    out.time_s.push_back(time_s[i]);
    out.value.push_back(std::max(out.value.back(), value[i]));
  }
  if (out.value.size() == 1)
    throw Error(Fault::data, "validation curve", "nothing was evaluated");
  return out;
}

std::optional<double> time_to(const Envelope& e, double target,
                              Crossing crossing) {
  const auto above = std::ranges::lower_bound(e.value, target);
  if (above == e.value.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(above - e.value.begin());
  if (i == 0 || crossing == Crossing::evaluation) return e.time_s[i];
  const double share =
      (target - e.value[i - 1]) / (e.value[i] - e.value[i - 1]);
  return e.time_s[i - 1] + share * (e.time_s[i] - e.time_s[i - 1]);
}

}  // namespace lockstep
