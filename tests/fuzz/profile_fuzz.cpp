// SPDX-License-Identifier: Apache-2.0
// Any JSON as a profile: read and written back the same, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/plan/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const lockstep::Json json = lockstep::Json::parse(data, data + size, nullptr,
                                                    /*allow_exceptions=*/false);
  if (json.is_discarded()) return 0;
  try {
    const lockstep::Json once =
        to_json(lockstep::profile_from_json(json, "fuzz.json"));
    if (to_json(lockstep::profile_from_json(once, "again.json")) != once)
      __builtin_trap();
  } catch (const lockstep::Error& e) {
    if (e.fault() == lockstep::Fault::internal) __builtin_trap();
  }
  return 0;
}
