// SPDX-License-Identifier: Apache-2.0
// What `lockstep data` was asked; done by the training half.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/table.h"

namespace lockstep::cli {

struct DataAsked {
  std::string action, kind, folder;
  std::string path;                                             // check
  std::int64_t workers = 2;                                     // check
  std::int64_t samples = 200, classes = 5, px = 256, seed = 0;  // make
  std::string to = "data", url;                                 // fetch
  Format format = Format::text;
};

// The exit code: 3 when `check` found broken files.
int run_data(const DataAsked& asked);

}  // namespace lockstep::cli
