// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "lockstep/core/clock.h"
#include "lockstep/core/units.h"

namespace lockstep {
namespace {

constexpr double kPeriod_s = 0.5;
constexpr const char* kClear = "\r\033[K";

std::string place(const SweepBar::Count& c) {
  return fmt::format(
      "[{}/{} points, {}/{} runs{}, {} left]", c.points_done, c.points,
      c.runs_done, c.runs_done + c.runs_left,
      c.running > 1 ? fmt::format(", {} running", c.running) : "",
      c.runs_left == 0          ? "0 s"
      : std::isfinite(c.left_s) ? format_seconds(c.left_s)
                                : "?");
}

}  // namespace

SweepBar::SweepBar() : terminal_(isatty(STDERR_FILENO) == 1) {}

SweepBar::~SweepBar() {
  if (terminal_) std::fputs(kClear, stderr);
}

bool SweepBar::due() const {
  return terminal_ && now_s() - drawn_s_ >= kPeriod_s;
}

void SweepBar::draw(const Count& count, const std::string& now) {
  drawn_s_ = now_s();
  fmt::print(stderr, "{}{} {}", kClear, place(count), now);
  std::fflush(stderr);
}

void SweepBar::say(const Count& count, const std::string& text) {
  fmt::print(stderr, "{}{} {}\n", terminal_ ? kClear : "", place(count), text);
  std::fflush(stderr);
}

}  // namespace lockstep
