// SPDX-License-Identifier: Apache-2.0
// One run as a process of its own: whatever happens to it, the sweep goes on.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

struct ChildOrder {
  std::vector<std::string> command;  // program, then its arguments
  std::filesystem::path log;         // takes its output
  double deadline_s = 3600;
  // Not zero: this signal is passed on and the child is waited for.
  const std::atomic<int>* stop = nullptr;
  // Called about ten times a second while it runs.
  std::function<void()> tick = {};
};

struct ChildEnd {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  bool late = false;  // the deadline passed and it was ended
  double seconds = 0;
  std::string last_words;  // the last lines of its log that say something
};

// Throws Error{Fault::internal} only when no process can be started at all.
// The child ends with this process, however this process ends.
ChildEnd run_child(const ChildOrder& order);

// Of a failure, from how the process ended and what it said; empty when it did
// its work. `out_of_memory`: the system ended a process for memory meanwhile.
std::string why_failed(const ChildEnd& end, bool out_of_memory);

}  // namespace lockstep
