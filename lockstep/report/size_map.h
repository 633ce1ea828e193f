// SPDX-License-Identifier: Apache-2.0
// Which sizes scale: models of the `variable` family over parameter bytes and
// FLOPs, each on several devices against one at the same global batch, and the
// parameter bytes a FLOP from which more devices stop to help.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/config/model_name.h"
#include "lockstep/core/table.h"
#include "lockstep/predict/verdict.h"

namespace lockstep {

struct SizeCell {
  NamedSize size;
  std::string strategy, arm, hardware;
  std::int64_t ranks = 2, global_batch = 0;
  Origin origin = Origin::measured;  // predicted where one device was
  Estimate speedup = {};
  Verdict verdict = Verdict::scales;

  double parameter_bytes() const;  // fp32
  double bytes_per_flop() const;
  // The ends of its interval have different words.
  bool unsure() const;
};

// Empty unless two or more sizes have a speed-up.
std::vector<SizeCell> size_map_of(const Study& study);

// Of one number of devices and one batch; NaN where no size did that.
struct SizeBoundary {
  std::string strategy, arm, hardware;
  std::int64_t ranks = 2, global_batch = 0;
  double least = 0, most = 0;  // bytes a FLOP of the sizes there are
  double scales_up_to = 0, chokes_from = 0;
  std::set<std::string> origins = {};  // of its cells
  int cells = 0, unsure = 0;

  // The ratio decides: all that scales lies below all that chokes.
  bool clear() const { return !(scales_up_to >= chokes_from); }
};
std::vector<SizeBoundary> boundaries_of(const std::vector<SizeCell>& map);
std::string sentence(const SizeBoundary& boundary);

Table size_table(const std::vector<SizeCell>& map);
Json to_json(const std::vector<SizeBoundary>& boundaries);

}  // namespace lockstep
