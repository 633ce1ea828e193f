// SPDX-License-Identifier: Apache-2.0
// A run's folder on disk: config.toml, machine.json, record.json, the CSV
// files, checkpoint/, and DONE, which is written last.
#pragma once

#include <filesystem>
#include <span>

#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"
#include "lockstep/core/sample.h"
#include "lockstep/store/run_record.h"

namespace lockstep {

class RunFolder {
 public:
  // A new folder; one that exists must be empty, else Error{Fault::store}.
  static RunFolder create(const std::filesystem::path& path,
                          const RunConfig& config, const Json& machine);
  // One that is there, to go on with or to read.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoint"; }
  bool done() const;
  RunConfig config() const;

  // Writes machine.json and the heads of CSV files that are not there yet: a
  // killed run may have left only its config.toml.
  void complete(const Json& machine);

  // Rows at the end of the CSV files.
  void append(std::span<const StepSample> steps,
              std::span<const CommSample> messages,
              std::span<const EpochSample> epochs);
  // Lines at the end of a file that only some runs have; `head` begins a new
  // one. noise.csv and decisions.jsonl: rewind() knows them.
  void append_lines(const char* name, const std::string& head,
                    const std::string& lines);
  // Forgets rows of that step and later, and of that epoch and later: a run
  // that was cut off goes on from its checkpoint and repeats nothing.
  void rewind(std::int64_t step, std::int64_t epoch);

  void write_config(const RunConfig& config);
  void write_record(const RunRecord& record);
  void mark_done();

 private:
  RunFolder(std::filesystem::path path, bool with_dp)
      : path_(std::move(path)), with_dp_(with_dp) {}

  std::filesystem::path path_;
  bool with_dp_;
};

// For a run that does not say where: runs/<name>_<date>-<time>, new. A run's
// name is its model's kind.
std::filesystem::path default_run_path(const std::string& name);
std::filesystem::path default_run_path(const RunConfig& config);

}  // namespace lockstep
