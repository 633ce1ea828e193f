// SPDX-License-Identifier: Apache-2.0
// A stored validation of predictions (table_validation.h) read back: its scores
// as a table, and the document that a page draws. Nothing is predicted again.
#pragma once

#include <filesystem>

#include "lockstep/core/json.h"
#include "lockstep/core/table.h"

namespace lockstep {

struct StoredValidation {
  Table scores;  // a row for each way of holding back and each predictor
  std::string words;
  Json document;  // {schema, verb, rows, scores, by_link, by_gpus, epochs, …}
};

// Whether the folder holds one.
bool is_validation(const std::filesystem::path& folder);

// Error{Fault::store} with file and line where it was changed by hand.
StoredValidation read_validation(const std::filesystem::path& folder);

}  // namespace lockstep
