// SPDX-License-Identifier: Apache-2.0
// What tables of a study begin with: which of its points a row is about.
#pragma once

#include <utility>
#include <vector>

#include "lockstep/core/table.h"

namespace lockstep {

inline std::vector<Column> study_columns(std::vector<Column> more) {
  std::vector<Column> out = {{.name = "model"},
                             {.name = "strategy"},
                             {.name = "arm"},
                             {.name = "origin"},
                             {.name = "ranks"}};
  for (Column& column : more) out.push_back(std::move(column));
  return out;
}

}  // namespace lockstep
