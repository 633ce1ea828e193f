// SPDX-License-Identifier: Apache-2.0
// What is known of a run when it ends, as record.json holds it: the seam
// between training and studying.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"
#include "lockstep/core/sample.h"

namespace lockstep {

// Raised when a field changes its meaning; readers refuse a newer one.
constexpr int kRecordSchema = 1;

struct RunRecord {
  std::string status = "running";  // running, done, interrupted, failed
  std::string reason = {};         // of a failure, else empty
  std::string command = {};        // as typed
  std::string began_utc = {}, ended_utc = {};
  std::string backend = {};  // how ranks talked: threads, mpi, …
  Json versions = Json::object();
  Json config = Json::object();   // complete, as used
  Json data = Json::object();     // where samples came from, how many
  Json work = Json::object();     // totals of the WorkPlan
  Json comm = Json::object();     // the CommPlan, totals by payload
  Json steps = Json::object();    // how they were run: captured, replayed, why
  Json advice = Json::object();   // the prediction it was run by, if any
  Json summary = Json::object();  // measured, names carry SI units
};

// Medians and totals of what was measured. Steps of the first epoch count
// only when there is no other: they hold warm-up. Steps whose messages were
// held back tell of their backward alone.
Json summarise(std::span<const StepSample> steps,
               std::span<const EpochSample> epochs,
               const MeasureConfig& measure = {});

Json to_json(const RunRecord& record);
// Throws Error{Fault::store} for a damaged record or one of a newer schema.
RunRecord read_record(const std::filesystem::path& file);

}  // namespace lockstep
