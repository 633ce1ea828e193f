// SPDX-License-Identifier: Apache-2.0
// lockstep doctor: what this machine has, what is wrong and what to do.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "lockstep/core/version.h"

namespace lockstep::cli {
namespace {

const char* state_word(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::warn:
      return "warn";
    case State::missing:
      return "missing";
  }
  return "";
}

Finding binary() {
  std::string found = "lockstep";
  for (const auto& [part, text] : versions())
    found += part == "lockstep" ? " " + text : ", " + text;
  return {.part = "binary", .found = found};
}

Findings examine() {
  Findings all = {binary()};
  for (auto* part : {examine_libtorch, examine_gpus, examine_machine})
    std::ranges::copy(part(), std::back_inserter(all));
  return all;
}

int run_doctor(Format format) {
  Table table{.verb = "doctor",
              .columns = {{.name = "part"},
                          {.name = "state"},
                          {.name = "found"},
                          {.name = "advice"}}};
  std::string broken;
  for (const Finding& f : examine()) {
    table.add({f.part, state_word(f.state), f.found, f.advice});
    if (f.needed && f.state == State::missing)
      broken += (broken.empty() ? "" : ", ") + f.part;
  }
  print(table, format);
  if (broken.empty()) return 0;
  throw Error(Fault::device, "doctor",
              "training on the CPU cannot work here: " + broken,
              "the table says what to do");
}

}  // namespace

std::function<int()> doctor(Options& options) {
  auto format = std::make_shared<Format>(Format::text);
  options.format(*format);
  return [format] { return run_doctor(*format); };
}

}  // namespace lockstep::cli
