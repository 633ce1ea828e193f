// SPDX-License-Identifier: Apache-2.0
// Watches a folder of runs and keeps the report's document up to date: one
// thread looks and computes, however many viewers there are.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "lockstep/core/json.h"

namespace lockstep {

struct Snapshot {
  std::int64_t version = 0;  // rises with every change
  Json document;
  std::string data;  // of data.json
};

class Watch {
 public:
  // Looks again after `every_s`, and never spends more than a tenth of its
  // time computing: a training beside it must not feel it.
  Watch(std::filesystem::path folder, double every_s);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  std::shared_ptr<const Snapshot> latest() const;
  // Waits until there is a version after `seen`, so long at most; gives the
  // latest, or nothing once stopped.
  std::shared_ptr<const Snapshot> after(std::int64_t seen, double seconds);
  void stop();

 private:
  void look();

  const std::filesystem::path folder_;
  const double every_s_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const Snapshot> latest_;
  bool stopped_ = false;
  std::thread thread_;
};

// The document of a folder as it is now. What cannot be read is a note in it:
// a study that has not begun has a page too.
Json live_document(const std::filesystem::path& folder);

// Changes when a file below the folder that reports read does.
std::uint64_t fingerprint(const std::filesystem::path& folder);

}  // namespace lockstep
