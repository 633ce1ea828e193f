// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/json_fields.h"

#include <cmath>

namespace lockstep {

double number_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::nan("");
}

std::int64_t whole_in(const Json& object, const char* field) {
  const double value = number_in(object, field);
  return std::isfinite(value) ? static_cast<std::int64_t>(value) : 0;
}

std::string text_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace lockstep
