// SPDX-License-Identifier: Apache-2.0
// Any bytes as a hardware file: read, or refused with an Error. What is read
// must be priced without trouble.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/hardware/hardware_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const lockstep::Hardware read =
        lockstep::parse_hardware_toml(text, "fuzz.toml");
    const lockstep::Json json = lockstep::to_json(read);
    const auto place = [](const std::string& dotted) { return dotted; };
    if (to_json(lockstep::hardware_from_json(json, place)) != json)
      __builtin_trap();  // what is written must be read back
  } catch (const lockstep::Error& e) {
    if (e.fault() == lockstep::Fault::internal) __builtin_trap();
  }
  return 0;
}
