// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. A write goes beside the target and is renamed, so a
// reader sees the old file or the new one, never half of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "lockstep/core/error.h"

namespace lockstep {

// Throws Error{fault} when the path is missing, a directory, not readable or
// larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, Fault fault,
                      std::int64_t max_bytes = 256 << 20);

// A file that appears only when commit() has put all of it on the disk. Every
// failure is Error{Fault::store} and leaves the old file as it was.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_, part_;
  int file_ = -1;
};

void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lockstep
