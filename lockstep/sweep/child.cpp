// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

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

pid_t start_child(const ChildOrder& order) {
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

}  // namespace

Child::Child(ChildOrder order)
    : order_(std::move(order)),
      begin_s_(now_s()),
      process_(start_child(order_)) {}

Child::~Child() {
  if (process_ == 0) return;
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Child::ask(int signal) {
  if (asked_s_ > 0) return;
  asked_s_ = now_s();
  ::kill(-process_, signal);
}

ChildEnd Child::wait() {
  while (true) {
    if (std::optional<ChildEnd> end = poll()) return std::move(*end);
    std::this_thread::sleep_for(kPoll);
  }
}

std::optional<ChildEnd> Child::poll() {
  check(process_ != 0, "a child is not asked again once it ended");
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended == 0) {
    if (now_s() - begin_s_ > order_.deadline_s && !late_) {
      late_ = true;
      ask(SIGTERM);
    }
    if (order_.stop != nullptr && *order_.stop != 0) ask(*order_.stop);
    if (asked_s_ > 0 && now_s() - asked_s_ > kGrace_s)
      ::kill(-process_, SIGKILL);
    return std::nullopt;
  }
  check(ended == process_, "a child can be waited for");
  // Whoever it left behind in its group.
  ::kill(-std::exchange(process_, 0), SIGKILL);
  ChildEnd end{.late = late_,
               .seconds = now_s() - begin_s_,
               .last_words = last_words(order_.log)};
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::string why_failed(const ChildEnd& end, bool out_of_memory) {
  if (end.exit_code == 0 && !end.late) return "";
  if (end.late) return "deadline";
  const auto says = [&end](const char* text) {
    return end.last_words.find(text) != std::string::npos;
  };
  if (says("out of memory") || says("can't allocate memory") ||
      says("bad_alloc") || says("ALLOC_FAILED") ||
      (end.signal == SIGKILL && out_of_memory))
    return kDoesNotFit;
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
