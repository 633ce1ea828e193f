// SPDX-License-Identifier: Apache-2.0
// Any bytes as a table of runs: a prediction for every row, or an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lockstep/predict/table_predict.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace lockstep;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Csv in = parse_csv(text, "fuzz.csv", Fault::config);
    const std::string out = predict_table(in, table_constants());
    const Csv back = parse_csv(out, "out.csv", Fault::internal);
    if (back.rows.size() != in.rows.size()) __builtin_trap();
    if (out.find("nan") != std::string::npos &&
        text.find("nan") == std::string_view::npos)
      __builtin_trap();
  } catch (const Error& e) {
    if (e.fault() == Fault::internal) __builtin_trap();
  }
  return 0;
}
