// SPDX-License-Identifier: Apache-2.0
// Small text helpers: exact number parsing and the nearest right name for a
// typo.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The whole of `text` as a number, or nothing. "1e3" is a double, not an int.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data(), end, value);
  if (bad != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

// The name closest to `wrong` by edit distance, when it is close enough to be
// what was meant; else empty.
std::string nearest(std::string_view wrong, std::span<const std::string> names);

}  // namespace lockstep
