// SPDX-License-Identifier: Apache-2.0
// A ceiling over this process's memory for as long as it lives: an allocation
// above it fails as std::bad_alloc instead of waking the system's killer.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace lockstep {

// Bytes of a line of /proc/self/status ("VmRSS", "VmData") and of what the
// system could still hand out. 0 where it does not say.
std::int64_t process_bytes(const char* line);
std::int64_t available_bytes();

class MemoryLimit {
 public:
  // The resident size may grow to about this.
  explicit MemoryLimit(std::int64_t resident_bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace lockstep
