// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

extern char** environ;

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

std::string last_line(std::string_view text) {
  text = trim(text);
  const std::size_t at = text.rfind('\n');
  return std::string(at == std::string_view::npos ? text : text.substr(at + 1));
}

void drain(int pipe, std::string& text) {
  std::array<char, 4096> some;
  ssize_t got;
  while ((got = ::read(pipe, some.data(), some.size())) > 0)
    text.append(some.data(), static_cast<std::size_t>(got));
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command,
                      const std::function<void()>& waiting) {
  std::array<int, 2> pipe = {};
  check(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe opens");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int bad =
      ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  int status = 127 << 8;
  std::string text;
  if (bad == 0) {
    while (::waitpid(child, &status, WNOHANG) == 0) {
      drain(pipe[0], text);
      waiting();
      std::this_thread::sleep_for(kPeriod);
    }
    drain(pipe[0], text);
  }
  ::close(pipe[0]);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          last_line(text)};
}

}  // namespace lockstep
