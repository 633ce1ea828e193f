// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recipe: a complete config, or an Error of the user's.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/config/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const lockstep::RunConfig read =
        lockstep::parse_config(text, "fuzz.toml", {});
    const std::string complete = to_toml(read);
    const lockstep::RunConfig again =
        lockstep::parse_config(complete, "again.toml", {});
    if (to_toml(again) != complete) __builtin_trap();
  } catch (const lockstep::Error& e) {
    if (e.fault() == lockstep::Fault::internal) __builtin_trap();
  }
  return 0;
}
