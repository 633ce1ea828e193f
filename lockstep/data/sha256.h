// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), to know a downloaded file for what it should be.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

// Throws Error{Fault::data} when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace lockstep
