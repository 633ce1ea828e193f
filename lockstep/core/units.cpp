// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

// Three significant digits, never in scientific form.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size != 0 && size < 0.01) return fmt::format("{:.4f}", value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string with_prefix(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kPrefix = {"",  "k", "M",
                                                       "G", "T", "P"};
  std::size_t i = 0;
  while (std::abs(value) >= 999.5 && i + 1 < kPrefix.size()) value /= 1e3, ++i;
  if (i == 0 && value == std::floor(value))
    return fmt::format("{} {}", static_cast<std::int64_t>(value), unit);
  return fmt::format("{} {}{}", three_digits(value), kPrefix[i], unit);
}

}  // namespace

std::string format_seconds(double s) {
  if (!std::isfinite(s)) return "unknown";
  const double size = std::abs(s);
  if (size < 1e-6) return three_digits(s * 1e9) + " ns";
  if (size < 1e-3) return three_digits(s * 1e6) + " us";
  if (size < 1) return three_digits(s * 1e3) + " ms";
  if (size < 120) return three_digits(s) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(s));
  if (size < 7200) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(double bytes) { return with_prefix(bytes, "B"); }

std::string format_rate(double bytes_per_s) {
  return with_prefix(bytes_per_s, "B/s");
}

std::string format_flops(double flops) { return with_prefix(flops, "FLOP"); }

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string format_percent(double share) {
  return three_digits(share * 100) + " %";
}

std::optional<double> parse_seconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}, {"", 1}}};
  for (const Unit& unit : kUnits)
    if (text.ends_with(unit.name)) {
      const auto number = parse_number<double>(
          trim(text.substr(0, text.size() - unit.name.size())));
      return number ? std::optional(*number * unit.seconds) : std::nullopt;
    }
  return std::nullopt;
}

}  // namespace lockstep
