// SPDX-License-Identifier: Apache-2.0
#include "lockstep/serve/watch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "lockstep/core/clock.h"
#include "lockstep/report/page.h"
#include "lockstep/report/study_document.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr double kShareOfTime = 0.1;

constexpr std::array<std::string_view, 6> kRead = {
    "record.json", "steps.csv", "comm.csv",
    "epochs.csv",  "DONE",      "ledger.jsonl"};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3ULL;  // FNV-1a's prime
}

std::chrono::duration<double> seconds_of(double s) {
  return std::chrono::duration<double>(s);
}

}  // namespace

std::uint64_t fingerprint(const fs::path& folder) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  std::error_code bad;
  for (auto at = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, bad);
       !bad && at != fs::recursive_directory_iterator(); at.increment(bad)) {
    const std::string name = at->path().filename().string();
    if (name == "checkpoint") at.disable_recursion_pending();
    if (std::ranges::find(kRead, name) == kRead.end()) continue;
    std::error_code gone;
    const auto time = at->last_write_time(gone);
    const auto size = at->file_size(gone);
    if (gone) continue;
    // A sum, since folders come in no order.
    hash += mix(mix(fs::hash_value(at->path()), size),
                static_cast<std::uint64_t>(time.time_since_epoch().count()));
  }
  return hash;
}

Json live_document(const fs::path& folder) {
  const std::vector<std::string> paths = {folder.string()};
  Study study{.paths = paths};
  try {
    study = read_runs(paths);
  } catch (const std::exception& e) {
    study.notes.push_back(e.what());
  }
  const StudyFindings findings = find_out(study);
  return study_document(study, findings, answers_of(study, findings.scaling));
}

Watch::Watch(fs::path folder, double every_s)
    : folder_(std::move(folder)), every_s_(every_s) {
  Json document = live_document(folder_);
  std::string data = page_data(document);
  latest_ = std::make_shared<const Snapshot>(
      Snapshot{1, std::move(document), std::move(data)});
  thread_ = std::thread([this] { look(); });
}

Watch::~Watch() {
  stop();
  thread_.join();
}

void Watch::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::shared_ptr<const Snapshot> Watch::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const Snapshot> Watch::after(std::int64_t seen,
                                             double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, seconds_of(seconds),
                    [&] { return stopped_ || latest_->version > seen; });
  return stopped_ ? nullptr : latest_;
}

void Watch::look() {
  // On Linux a thread has a niceness of its own.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 15);
  std::uint64_t known = 0;
  double pause = 0;
  for (std::unique_lock lock(mutex_); !stopped_;) {
    changed_.wait_for(lock, seconds_of(pause), [&] { return stopped_; });
    if (stopped_) return;
    lock.unlock();
    const double begin = now_s();
    const std::uint64_t now = fingerprint(folder_);
    std::shared_ptr<const Snapshot> next;
    if (now != known) {
      Json document = live_document(folder_);
      std::string data = page_data(document);
      next = std::make_shared<const Snapshot>(Snapshot{
          latest()->version + 1, std::move(document), std::move(data)});
      known = now;
    }
    pause = std::max(every_s_, (now_s() - begin) / kShareOfTime);
    lock.lock();
    if (next) latest_ = std::move(next), changed_.notify_all();
  }
}

}  // namespace lockstep
