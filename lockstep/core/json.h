// SPDX-License-Identifier: Apache-2.0
// JSON as this project uses it: keys keep their order, so files read as they
// were written and compare as text.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/core/error.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

// Both name the file in their errors: Error{fault} for reading (missing, cut
// short, not JSON), Error{Fault::store} for writing.
Json read_json(const std::filesystem::path& path, Fault fault);
void write_json(const std::filesystem::path& path, const Json& json);

}  // namespace lockstep
