// SPDX-License-Identifier: Apache-2.0
// One run as a process of its own: whatever happens to it, the sweep goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct ChildOrder {
  std::vector<std::string> command;  // program, then its arguments
  std::filesystem::path log;         // takes its output
  double deadline_s = 3600;
  // Not zero: this signal is passed on and the child is waited for.
  const std::atomic<int>* stop = nullptr;
};

struct ChildEnd {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  bool late = false;  // the deadline passed and it was ended
  double seconds = 0;
  std::string last_words;  // the last lines of its log that say something
};

// Between two looks at processes at work.
constexpr auto kPoll = std::chrono::milliseconds(10);

// A process at work. It ends with the thread that started it, however that
// thread ends; asked for often enough, it keeps its deadline and hears of a
// stop. One thread can look after many.
class Child {
 public:
  // Throws Error{Fault::internal} only when no process can be started at all.
  explicit Child(ChildOrder order);
  ~Child();  // one that still runs is ended for good
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // How it ended; nothing while it runs.
  std::optional<ChildEnd> poll();
  ChildEnd wait();

 private:
  // First what it is told, after a while for good.
  void ask(int signal);

  ChildOrder order_;
  double begin_s_ = 0, asked_s_ = 0;
  int process_ = 0;  // and its group; 0: waited for
  bool late_ = false;
};

// Memory did not suffice.
constexpr const char* kDoesNotFit = "does not fit";

// Of a failure, from how the process ended and what it said; empty when it did
// its work. `out_of_memory`: the system ended a process for memory meanwhile.
std::string why_failed(const ChildEnd& end, bool out_of_memory);

}  // namespace lockstep
