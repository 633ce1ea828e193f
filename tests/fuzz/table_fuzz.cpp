// SPDX-License-Identifier: Apache-2.0
// Any bytes as a CSV table: every row as wide as the header, or an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lockstep/core/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const lockstep::Csv csv =
        lockstep::parse_csv(text, "fuzz.csv", lockstep::Fault::config);
    for (const lockstep::CsvRow& row : csv.rows)
      if (row.cells.size() != csv.header.size()) __builtin_trap();
  } catch (const lockstep::Error& e) {
    if (e.fault() == lockstep::Fault::internal) __builtin_trap();
  }
  return 0;
}
