// SPDX-License-Identifier: Apache-2.0
// Where data lies on this machine: data.path, else the folder LOCKSTEP_DATA
// names, else data/ in the working directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/config/data.h"

namespace lockstep {

struct Place {
  std::filesystem::path path;
  std::string found_by;  // "data.path", "LOCKSTEP_DATA" or "data/"
};

// The folders that are searched, in order; those that exist.
std::vector<Place> data_roots();

// The folder (or, for text, file) that holds the data of that kind. `path` is
// data.path; a relative one is tried in the working directory, then in each
// root. Throws Error{Fault::data} that says how to get the data.
Place locate_data(DataKind kind, const std::string& path);

// Where fetch and make put data of that kind below a root, "fsdd".
std::string folder_of(DataKind kind);

std::string word_of(DataKind kind);
// Throws Error{Fault::config} with the nearest right word.
DataKind data_kind_of(const std::string& word);

}  // namespace lockstep
