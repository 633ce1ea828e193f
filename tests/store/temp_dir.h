// SPDX-License-Identifier: Apache-2.0
// A folder that lives as long as the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockstep {

struct TempDir {
  TempDir() {
    std::string name =
        (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::filesystem::path path;
};

}  // namespace lockstep
