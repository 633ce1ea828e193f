// SPDX-License-Identifier: Apache-2.0
// Seed 000's argument as straight lines: epoch time against the bytes an epoch
// sends over a link and against 1/batch, here and in the seed's own numbers,
// and how much of the slope one device has too, which sends nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"
#include "lockstep/report/claim_points.h"

namespace lockstep {

// Below this R2 a slope has no shares.
constexpr double kIsALine = 0.9;

// One model on one number of devices over three or more batch sizes.
struct EpochLine {
  bool here = true;  // else the seed's numbers
  std::string model, strategy, arm = {};
  Origin origin = Origin::measured;
  std::int64_t ranks = 1;

  std::vector<std::int64_t> batches = {};
  std::vector<double> epoch_s = {};
  Line by_inverse_batch = {};

  // Of several devices where one has a time for each batch: bytes an epoch
  // sends over the busiest link, and one device's time at the same batch.
  std::vector<double> link_bytes = {}, alone_s = {};
  std::optional<Line> by_bytes = {}, alone_by_bytes = {};
  // Messages timed directly that nothing hid, an epoch's.
  std::optional<Line> exposed_by_bytes = {};

  // Bytes a second that the slope reads.
  double rate() const;
  // Share of the slope that is left when one device's is taken away; NaN for
  // points that follow no line.
  double communication_share() const;
};

// Of a study that follows seed 000: its own lines, then the seed's. Bytes are
// those of the runs' messages, of what was not run those of the plan.
std::vector<EpochLine> epoch_lines_of(const Study& study);

Table byte_lines_table(const std::vector<EpochLine>& lines);
Table batch_lines_table(const std::vector<EpochLine>& lines);
Json to_json(const std::vector<EpochLine>& lines);

}  // namespace lockstep
