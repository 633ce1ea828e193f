// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "lockstep/core/clock.h"
#include "lockstep/core/units.h"

namespace lockstep {
namespace {

constexpr double kTerminalPeriod_s = 0.1;
constexpr double kPlainPeriod_s = 10;
constexpr int kBarWidth = 24;

std::string bar(double share) {
  const int full = static_cast<int>(share * kBarWidth);
  return "[" + std::string(static_cast<std::size_t>(full), '=') +
         std::string(static_cast<std::size_t>(kBarWidth - full), ' ') + "]";
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(std::max<std::int64_t>(total, 1)),
      begin_s_(now_s()),
      drawn_s_(begin_s_),
      terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { finish(); }

void Progress::update(std::int64_t done, const std::string& note) {
  done_ = done;
  const double now = now_s();
  if (now - drawn_s_ < (terminal_ ? kTerminalPeriod_s : kPlainPeriod_s)) return;
  note_ = note;
  draw(now);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!terminal_) return;
  draw(now_s());
  std::fputc('\n', stderr);
}

void Progress::draw(double now) {
  drawn_s_ = now;
  const double share = std::clamp(
      static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
  const double spent = std::max(now - begin_s_, 1e-9);
  const double rate = static_cast<double>(done_) / spent;
  const std::string left =
      done_ == 0 ? "?"
                 : format_seconds(static_cast<double>(total_ - done_) / rate);
  const std::string line = fmt::format(
      "{} {} {:3.0f} %  {:.0f} {}/s  {} left  {}", label_,
      terminal_ ? bar(share) : "", share * 100, rate, unit_, left, note_);
  if (terminal_)
    fmt::print(stderr, "\r\033[K{}", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

}  // namespace lockstep
