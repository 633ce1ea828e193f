// SPDX-License-Identifier: Apache-2.0
// The table of verbs, and the only place that turns errors into exit codes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "cli/commands.h"
#include "cli/parse.h"
#include "lockstep/core/error.h"

using lockstep::Error;
using lockstep::Fault;
using lockstep::cli::Command;

namespace {

constexpr std::array kCommands = {
    Command{"advise", "how many devices, which batch size, and why",
            lockstep::cli::advise},
    Command{"batch",
            "which batch size, by every criterion, from runs or traces",
            lockstep::cli::batch},
    Command{"train", "train a recipe and record what it took",
            lockstep::cli::train},
    Command{"find-batch", "the largest batch that fits, and the best one",
            lockstep::cli::find_batch},
    Command{"sweep", "run a whole study: a grid of runs, resumable",
            lockstep::cli::sweep},
    Command{"report", "what runs measured", lockstep::cli::report},
    Command{"compare", "is B slower than A, and how sure is that",
            lockstep::cli::compare},
    Command{"serve", "the report as a live page while runs go on",
            lockstep::cli::serve},
    Command{"export", "runs as TensorBoard reads them",
            lockstep::cli::export_run},
    Command{"config", "check a recipe, or explain every setting",
            lockstep::cli::config},
    Command{"data", "what data is here; check, make or fetch some",
            lockstep::cli::data},
    Command{"doctor", "what this machine has, what is wrong, what to do",
            lockstep::cli::doctor},
    Command{"hardware", "devices, links and clusters the predictor knows",
            lockstep::cli::hardware},
    Command{"summary", "layers, sizes, FLOPs and memory of the models",
            lockstep::cli::summary},
    Command{"predict", "what N devices would do, before the money is spent",
            lockstep::cli::predict},
    Command{"probe", "measure this machine: rates, launches, links; normal?",
            lockstep::cli::probe},
    Command{"profile", "measure a recipe's model on one device, layer by layer",
            lockstep::cli::profile},
    Command{"version", "versions of the program and what it was built with",
            lockstep::cli::version},
};

int exit_code(Fault fault) {
  switch (fault) {
    case Fault::config:
      return 2;
    case Fault::data:
      return 3;
    case Fault::device:
      return 4;
    case Fault::peer:
      return 5;
    case Fault::store:
      return 6;
    case Fault::internal:
      return 1;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  return lockstep::cli::parse_and_run(argc, argv, kCommands);
} catch (const Error& e) {
  std::fprintf(stderr, "lockstep: %s\n", e.what());
  if (!e.hint().empty()) std::fprintf(stderr, "  hint: %s\n", e.hint().c_str());
  // A rank that never answered may still be running: tear nothing down.
  if (e.fault() == Fault::peer) {
    std::fflush(nullptr);
    std::_Exit(exit_code(e.fault()));
  }
  return exit_code(e.fault());
} catch (const std::filesystem::filesystem_error& e) {
  std::fprintf(stderr, "lockstep: %s\n", e.what());
  return exit_code(Fault::store);
} catch (const std::exception& e) {
  std::fprintf(stderr, "lockstep: %s\n", e.what());
  return 1;
}
