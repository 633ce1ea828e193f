// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. A write goes beside the target and is renamed, so a
// reader sees the old file or the new one, never half of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "lockstep/core/error.h"

namespace lockstep {

// Throws Error{fault} when the path is missing, a directory, not readable or
// larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, Fault fault,
                      std::int64_t max_bytes = 256 << 20);

// Throws Error{Fault::store}; the old file is then intact.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lockstep
