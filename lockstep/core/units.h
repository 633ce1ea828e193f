// SPDX-License-Identifier: Apache-2.0
// Numbers for people: SI inside the program, a fitting unit on the screen.
// Only report/ and cli/ (and error texts) call these, and what people write for
// a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

std::string format_seconds(double s);          // "1.24 ms", "3 min 20 s"
std::string format_bytes(double bytes);        // "48.4 MB": 10^6 bytes
std::string format_rate(double bytes_per_s);   // "4.10 GB/s"
std::string format_flops(double flops);        // "3.63 GFLOP"
std::string format_count(std::int64_t count);  // "12,102,220"
std::string format_percent(double share);      // 0.381 -> "38.1 %"

// A number with s, min, h or d behind it, or of seconds: "90", "30min", "2h".
std::optional<double> parse_seconds(std::string_view text);

}  // namespace lockstep
