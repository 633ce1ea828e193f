// SPDX-License-Identifier: Apache-2.0
// lockstep serve DIR: the report's page live while runs go on. Ends with
// Ctrl-C.
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "lockstep/core/error.h"
#include "lockstep/serve/server.h"

namespace lockstep::cli {
namespace {

struct ServeAsked {
  std::string folder, host = "127.0.0.1", token;
  std::int64_t port = 0, viewers = 200;
};

int run_serve(const ServeAsked& asked) {
  if (asked.port < 0 || asked.port > 65535)
    throw Error(Fault::config, "--port",
                std::to_string(asked.port) + " is out of range");
  if (asked.viewers < 1 || asked.viewers > 2000)
    throw Error(Fault::config, "--viewers",
                std::to_string(asked.viewers) + " is out of range");
  // Before any thread: all of them inherit it, and one waits for the signal.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  LiveServer server({.folder = asked.folder,
                     .host = asked.host,
                     .port = static_cast<int>(asked.port),
                     .token = asked.token,
                     .viewers = static_cast<int>(asked.viewers)});
  std::printf("%s\n", server.address().c_str());
  std::fflush(stdout);
  std::fprintf(stderr, "# serving %s; Ctrl-C ends\n", asked.folder.c_str());
  std::jthread waits([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    server.stop();
  });
  server.run();
  return 0;
}

}  // namespace

std::function<int()> serve(Options& options) {
  auto asked = std::make_shared<ServeAsked>();
  options.value("dir", asked->folder, "study folder, or folder of runs", true);
  options.value("--port", asked->port, "port (0: any that is free)");
  options.value("--host", asked->host,
                "address to listen on (127.0.0.1: this machine only)");
  options.value("--token", asked->token,
                "secret in the address (a new one each time)");
  options.value("--viewers", asked->viewers,
                "how many may follow at once (200)");
  return [asked] { return run_serve(*asked); };
}

}  // namespace lockstep::cli
