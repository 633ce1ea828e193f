// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr double kTick_s = 0.1;
// From asking a process to end to ending it.
constexpr double kGrace_s = 20;
constexpr int kNoProgram = 127;
constexpr std::size_t kMostWords = 600;

// Runs in the child: calls that are safe after fork, nothing else. Not
// posix_spawn, which cannot ask for the parent's death to be the child's.
[[noreturn]] void become(char* const* arguments, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNoProgram);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  ::_exit(kNoProgram);
}

pid_t start(const ChildOrder& order) {
  std::vector<std::string> words = order.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int log =
      ::open(order.log.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0)
    throw Error(Fault::store, order.log.string(),
                fmt::format("cannot be written: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(arguments.data(), log, parent);
  ::close(log);
  if (child < 0)
    throw Error(Fault::internal, words[0],
                fmt::format("cannot be started: {}", std::strerror(errno)));
  ::setpgid(child, child);  // both sides: whoever comes first
  return child;
}

// A progress line redraws itself: what stands after the last return counts.
std::string shown(const std::string& line) {
  const std::string_view text = trim(line);
  const std::size_t at = text.rfind('\r');
  return std::string(at == text.npos ? text : text.substr(at + 1));
}

// The error the program printed, or else its last line.
std::string last_words(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last, error;
  for (std::string line; std::getline(in, line);) {
    const std::string text = shown(line);
    if (text.empty()) continue;
    if (text.starts_with("lockstep: "))
      error = text.substr(10);
    else if (!error.empty())
      error += " | " + text;
    last = text;
  }
  std::string out = error.empty() ? last : error;
  return out.size() > kMostWords ? out.substr(0, kMostWords) + " …" : out;
}

// Ends a process step by step: first what it was told, after a while for good.
class Ending {
 public:
  explicit Ending(pid_t group) : group_(group) {}

  void ask(int signal) {
    if (asked_s_ > 0) return;
    asked_s_ = now_s();
    ::kill(-group_, signal);
  }
  void insist() {
    if (asked_s_ > 0 && now_s() - asked_s_ > kGrace_s) ::kill(-group_, SIGKILL);
  }

 private:
  pid_t group_;
  double asked_s_ = 0;
};

}  // namespace

ChildEnd run_child(const ChildOrder& order) {
  const double begin = now_s();
  const pid_t child = start(order);
  Ending ending(child);
  ChildEnd end;
  int status = 0;
  double ticked = begin;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const double now = now_s();
    if (now - begin > order.deadline_s && !end.late) {
      end.late = true;
      ending.ask(SIGTERM);
    }
    if (order.stop != nullptr && *order.stop != 0) ending.ask(*order.stop);
    ending.insist();
    if (order.tick && now - ticked > kTick_s) {
      order.tick();
      ticked = now;
    }
    std::this_thread::sleep_for(kPoll);
  }
  // Whoever it left behind in its group.
  ::kill(-child, SIGKILL);
  end.seconds = now_s() - begin;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.last_words = last_words(order.log);
  return end;
}

std::string why_failed(const ChildEnd& end, bool out_of_memory) {
  if (end.exit_code == 0 && !end.late) return "";
  if (end.late) return "deadline";
  const auto says = [&end](const char* text) {
    return end.last_words.find(text) != std::string::npos;
  };
  if (says("out of memory") || says("can't allocate memory") ||
      says("bad_alloc") || (end.signal == SIGKILL && out_of_memory))
    return "does not fit";
  switch (end.exit_code) {
    case 2:
      return "recipe";
    case 3:
      return "data";
    case 4:
      return "device";
    case 5:
      return "lost rank";
    case 6:
      return "store";
    default:
      return "crashed";
  }
}

}  // namespace lockstep
