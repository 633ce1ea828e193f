// SPDX-License-Identifier: Apache-2.0
// A validation curve that only rises: the best seen so far against training
// time, and when it first reached a target.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace lockstep {

// Starts at time 0 with value 0: an untrained net knows nothing.
struct Envelope {
  std::vector<double> time_s, value;
  double last() const { return value.back(); }
};

// Values that are not finite are passed over: nothing was measured there.
// Error{Fault::data} when times do not rise, lengths differ or none is finite.
Envelope monotone_envelope(std::span<const double> time_s,
                           std::span<const double> value);

// interpolated: on the line between two evaluations. evaluation: at the first
// evaluation that shows it, as a stopwatch would.
enum class Crossing { interpolated, evaluation };

// Nothing when the curve ends below the target.
std::optional<double> time_to(const Envelope& envelope, double target,
                              Crossing crossing);

}  // namespace lockstep
