// SPDX-License-Identifier: Apache-2.0
// What a study needs to know of one run, from its folder: what it was, where
// it ran, what a step took and where that time went.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/analyse/series.h"
#include "lockstep/batch/batch_run.h"
#include "lockstep/core/json.h"
#include "lockstep/core/sample.h"
#include "lockstep/store/run_record.h"

namespace lockstep {

// Medians of the settled steps, seconds; NaN: not measured. The pieces add up
// to the step, hidden communication apart: it lies under compute.
struct StepPieces {
  double data_s = 0, copy_s = 0, forward_s = 0, backward_s = 0;
  double exposed_comm_s = 0, optim_s = 0, wait_s = 0;
  double comm_s = 0;  // all of it, hidden or not

  double compute_s() const { return forward_s + backward_s + optim_s; }
};

// Messages of one payload in a step that sends, on rank 0.
struct PayloadFlow {
  std::string payload = {};  // as comm.csv names it: gradients, buffers, …
  double messages = 0, bytes = 0;
  double bus_bytes = 0;  // over its busiest link at the least
  double seconds = 0;    // of all of them, one after the other; NaN: not timed
};

struct RunFacts {
  std::filesystem::path path;
  std::string name;
  std::string label = {};  // what its study's settings call it, or none
  std::string status;      // done, running, interrupted, failed, half written
  std::string reason = {};
  std::string command = {}, began_utc = {};
  std::string model = {}, device = {}, strategy = {}, backend = {},
              precision = {}, link = {};
  std::string route = {};  // of data_parallel: star, ring or tree
  bool emulated = false;
  std::string mode = {}, arm = {};  // what its study says of it
  std::string not_timed = {};       // why it has no times, or none
  std::int64_t ranks = 1, per_rank = 0, global_batch = 0, seed = 0;
  bool batch_changes = false;  // as it trains: global_batch is the first
  double lr = 0;
  std::string host = {}, hardware = {};  // the machine and its device
  std::int64_t parameters = 0, samples_per_epoch = 0;
  std::int64_t classes = 0, validation_samples = 0;  // 0: not known
  double bytes_a_step = 0, flops_a_sample = 0;       // forward and backward
  // What a replayed step hands to the device, and how much that holds (kernels,
  // copies, fills); NaN: not counted.
  double launches_a_step = 0, operations_a_step = 0;
  std::vector<PayloadFlow> payloads = {};  // by their names

  std::vector<double> step_s = {};  // settled steps of rank 0
  Estimate step = {};
  StepPieces pieces = {};
  double imbalance = 0;        // slowest rank's compute over the mean, less 1
  double bus_bytes_per_s = 0;  // of the run's messages, by their time
  double peak_bus_bytes_per_s = 0;                 // of its best message
  double peak_memory_bytes = 0, memory_bytes = 0;  // used, there
  // An epoch of the whole data, with loading and without; from the median step
  // where no epoch but the first was whole. 0: not known.
  double epoch_s = 0, epoch_without_loading_s = 0;
  bool epoch_from_steps = false;
  std::int64_t asked_steps = 0;  // it was to end there; 0: after its epochs
  std::vector<EpochSample> epochs = {};
  Json summary = Json::object();  // as its record holds it
  std::vector<std::string> notes = {};

  bool timed() const { return step.value > 0; }
  double steps_per_epoch() const;
};

// As the model says, else by names or a number in the data's own words; 0: not
// known.
std::int64_t classes_of(const RunRecord& record);

// Nothing where its samples do not resolve it.
std::optional<LateNoise> late_noise_of(const RunRecord& record);

// Its times say nothing, so that nobody is to see them.
void forget_times(RunFacts& run, const std::string& why);

// Steps that count, of all ranks: without the first epoch where there is
// another, else without the first tenth, as summaries of records are made.
std::vector<StepSample> settled_steps(const std::filesystem::path& steps_csv);

// Error{Fault::store} for a folder that holds no run, a damaged file or a
// record of a newer schema. A run without record.json is "half written":
// what it says so far is read.
RunFacts read_facts(const std::filesystem::path& path,
                    const Resampling& how = {});

}  // namespace lockstep
