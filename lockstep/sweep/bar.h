// SPDX-License-Identifier: Apache-2.0
// How far a sweep is: a line for every run that ended, and on a terminal one
// moving line with points, runs and the time that is left. Writes to stderr.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

class SweepBar {
 public:
  SweepBar();
  ~SweepBar();
  SweepBar(const SweepBar&) = delete;
  SweepBar& operator=(const SweepBar&) = delete;

  struct Count {
    std::int64_t points_done = 0, points = 0, runs_done = 0;
    std::int64_t runs_left = 0;  // at the least
    std::int64_t running = 0;
    double left_s = 0;  // NaN: nothing ended yet
  };
  // The moving line may be drawn anew: on a terminal, at most twice a second.
  // It must not disturb.
  bool due() const;
  void draw(const Count& count, const std::string& now);
  // A line that stays.
  void say(const Count& count, const std::string& text);

 private:
  bool terminal_;
  double drawn_s_ = 0;
};

}  // namespace lockstep
