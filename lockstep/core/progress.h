// SPDX-License-Identifier: Apache-2.0
// How far a long task is: one moving line with rate and time left on a
// terminal, a plain line every so often elsewhere. Writes to stderr only.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

class Progress {
 public:
  // `label` names the task, `unit` what is counted ("samples", "files").
  Progress(std::string label, std::int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` is shown behind the bar, such as the latest loss. Cheap: draws at
  // most ten times a second (a terminal) or every ten seconds (elsewhere).
  void update(std::int64_t done, const std::string& note = {});
  // Draws the last state and ends the line. Called once by the destructor too.
  void finish();

 private:
  void draw(double now);

  std::string label_, unit_, note_;
  std::int64_t total_, done_ = 0;
  double begin_s_, drawn_s_;
  bool terminal_, finished_ = false;
};

}  // namespace lockstep
