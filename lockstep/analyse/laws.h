// SPDX-License-Identifier: Apache-2.0
// Laws of scaling fitted to measured speed-ups: Amdahl's and Gustafson's with
// one unknown (the serial share), Gunther's Universal Scalability Law with two
// (contention and coherence). Each says where it must not be trusted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/analyse/scaling.h"

namespace lockstep {

enum class Law { amdahl, gustafson, usl };
std::string_view word(Law law);

struct LawValues {
  double serial = 0;     // Amdahl, Gustafson: share that does not scale;
                         // USL: contention
  double coherence = 0;  // USL alone: cost of every pair of ranks
};
double speedup_at(Law law, const LawValues& values, double ranks);

struct LawFit {
  Law law = Law::amdahl;
  LawValues values = {}, low = {}, high = {};  // 95 %; NaN without draws
  double rms = 0;        // of ln(speed-up): how far the law misses
  double max_ranks = 0;  // largest number of ranks it was fitted to
  // USL: ranks beyond which more are slower; infinite without coherence cost.
  double peak_ranks = 0;
  std::vector<std::string> warnings = {};
};

// Speed-ups over one rank, with draws where there are any. Fewer points than
// unknowns: no fit (empty vector).
struct SpeedupPoint {
  double ranks = 1;
  Estimate speedup;
};
std::vector<LawFit> fit_laws(std::span<const SpeedupPoint> points,
                             std::span<const Law> laws);

// Strong scaling: Amdahl and USL; weak: Gustafson and USL. None for
// predictions.
std::vector<LawFit> fit_laws(const ScalingSeries& series);

}  // namespace lockstep
