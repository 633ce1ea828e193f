// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace lockstep {
namespace {

std::int64_t bytes_in(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key + ":"))
      return std::stoll(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace

std::int64_t process_bytes(const char* line) {
  return bytes_in("/proc/self/status", line);
}

std::int64_t available_bytes() {
  return bytes_in("/proc/meminfo", "MemAvailable");
}

MemoryLimit::MemoryLimit(std::int64_t resident_bytes) {
  getrlimit(RLIMIT_DATA, &before_);
  // The limit is over what is mapped, which is more than what is used.
  const std::int64_t more =
      std::max<std::int64_t>(0, resident_bytes - process_bytes("VmRSS"));
  rlimit now = before_;
  now.rlim_cur = std::min<rlim_t>(
      before_.rlim_max, static_cast<rlim_t>(process_bytes("VmData") + more));
  setrlimit(RLIMIT_DATA, &now);
}

MemoryLimit::~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }

}  // namespace lockstep
