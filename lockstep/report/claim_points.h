// SPDX-License-Identifier: Apache-2.0
// What the tables of claims share: finding points, saying their times with
// their origin, straight lines.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/report/claims.h"

namespace lockstep {

// Two times this close count as the same.
constexpr double kSame = 1.15;

using ClaimPoints = std::vector<const StudyPoint*>;

// ClaimPoints with a time that may be compared, as `wanted` says, by ranks and
// batch.
ClaimPoints points_where(const Study& study,
                         const std::function<bool(const StudyPoint&)>& wanted);
// A model as seed 000 spread it over several devices (data_parallel), or with
// ddp where that is all there is.
ClaimPoints several_devices(const Study& study, const std::string& model);
// Of these the one with so many ranks and such a global batch, or null. A
// measured one wins over a predicted one.
const StudyPoint* at(const ClaimPoints& points, std::int64_t ranks,
                     std::int64_t global_batch);
// Global batches of these points, ascending, each once.
std::vector<std::int64_t> batches_of(const ClaimPoints& points);

// "0.248 s", "0.248 s (predicted)".
std::string said_epoch(const StudyPoint& point);

struct Line {
  double slope = 0, offset = 0, r2 = 0;
  double slope_low = 0, slope_high = 0;  // 95 %, NaN below three points
};
Line fit_line(std::span<const double> x, std::span<const double> y);

// A claim whose points are not there.
Claim untested(std::string source, std::string claim, std::string missing);
Claim judged(std::string source, std::string claim, std::string measured,
             bool holds);

}  // namespace lockstep
