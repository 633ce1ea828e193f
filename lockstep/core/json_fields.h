// SPDX-License-Identifier: Apache-2.0
// Reads records of runs that may lack a field or hold null for what was not
// measured. Where a missing field is an error, use ObjectReader.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/json.h"

namespace lockstep {

// NaN, 0 or "" where the field is missing or of another type.
double number_in(const Json& object, const char* field);
std::int64_t whole_in(const Json& object, const char* field);
std::string text_in(const Json& object, const char* field);

// JSON has no NaN: null stands for what was not measured.
Json number_or_null(double value);

}  // namespace lockstep
