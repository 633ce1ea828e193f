// SPDX-License-Identifier: Apache-2.0
// A study's folder on disk: study.toml, ledger.jsonl (append-only: what was
// queued, started, done, failed and why, predicted), runs/<point>/<repeat>/.
// Paths inside are relative: the folder can move between machines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/json.h"

namespace lockstep {

// Raised when an event changes its meaning; readers refuse a newer one.
constexpr int kStudySchema = 1;

// Of a run that shared the machine with others of its sweep.
constexpr const char* kRanBesideOthers = "ran beside others: not timed";

// One finished run of a point.
struct PointRun {
  int repeat = 1;
  std::string run;  // relative to the study's folder
  std::string host;
  double seconds = 0;
  bool timed = false, shared = false;  // shared: it ran beside others
  Json result = Json::object();
};

struct PointFailure {
  int repeat = 1;
  std::string run, host;
  std::string why;      // "does not fit", "deadline", "crashed", …
  std::string message;  // the run's own last words
  bool shared = false;  // it ran beside others
};

// What the ledger says of one point.
struct PointState {
  std::string id;
  Json settings = Json::object();  // dotted name -> value, beside the recipe
  Json axes = Json::object();      // model, strategy, ranks, global_batch, …
  std::string mode, why;
  std::vector<PointRun> runs = {};
  std::vector<PointFailure> failures = {};
  Json predicted = nullptr, settled = nullptr, verified = nullptr;
  // A run began and nobody wrote how it ended; it may have run beside others.
  int open_repeat = 0;
  std::string open_run = {};
  bool open_shared = false;
  bool crowded = false;  // beside others its memory did not suffice
};

struct StudyState {
  std::string title, kind, measure;
  std::string command;
  std::vector<PointState> points;  // in the order they were queued
  std::vector<std::string> warnings, hosts;
  bool complete = false;  // every point of the grid was queued

  PointState* find(const std::string& id);
};

// The folder has a ledger.
bool is_study(const std::filesystem::path& path);

// The events in order. A last line that was cut short is left out; any other
// that is no event, or a newer schema, is Error{Fault::store} with its line.
std::vector<Json> read_ledger(const std::filesystem::path& file);
StudyState fold(const std::vector<Json>& events);
// Both of the above. Error{Fault::store} when `path` is no study.
StudyState read_study(const std::filesystem::path& path);

// The folder of a working sweep, locked against a second one.
class StudyFolder {
 public:
  // A new folder; one that exists must be empty, else Error{Fault::store}.
  static StudyFolder create(const std::filesystem::path& path,
                            const std::string& study_toml);
  // One that is there. Both throw Error{Fault::store} when another sweep works
  // on it.
  static StudyFolder open(const std::filesystem::path& path);

  StudyFolder(StudyFolder&& other) noexcept;
  StudyFolder& operator=(StudyFolder&&) = delete;
  ~StudyFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path recipe() const { return path_ / "study.toml"; }

  // One line at the end of the ledger, on the disk when this returns. Adds
  // time_utc and host.
  void append(const std::string& event, const Json& fields);

 private:
  explicit StudyFolder(std::filesystem::path path);

  std::filesystem::path path_;
  int lock_ = -1, ledger_ = -1;
};

std::string host_name();

}  // namespace lockstep
