// SPDX-License-Identifier: Apache-2.0
// Downloads the original of a set and checks it by SHA-256. The only place
// where Lockstep uses the network for data, and only when asked.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/config/data.h"

namespace lockstep {

struct FileSum {
  std::string name, sha256;
};

// Where the original of a set is and how to know it.
struct Original {
  DataKind kind = DataKind::digits;
  std::string url;
  bool archive = false;  // .tar.gz whose first folder is dropped
  std::int64_t download_bytes = 0;
  std::vector<FileSum> files;
  // Of a folder with many files instead: SHA-256 of what `sha256sum *.wav`
  // prints in it.
  std::string folder, folder_sha256;
};

// Throws Error{Fault::config} for a kind that has no original.
const Original& original_of(DataKind kind);

struct FetchOptions {
  std::filesystem::path root = "data";  // the set becomes a folder in it
  std::string url;                      // instead of the original's
};

// The folder of the set, complete and checked; one that is there already and
// right is left alone. `progress` hears bytes done. Throws Error{Fault::data}.
std::filesystem::path fetch_data(
    const Original& original, const FetchOptions& options,
    const std::function<void(std::int64_t)>& progress);

}  // namespace lockstep
