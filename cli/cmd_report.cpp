// SPDX-License-Identifier: Apache-2.0
// lockstep report RUN…: what runs measured.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "lockstep/core/error.h"
#include "lockstep/report/run_report.h"

namespace lockstep::cli {
namespace {

struct Asked {
  std::vector<std::string> runs;
  Format format = Format::text;
};

int run(const Asked& asked) {
  if (asked.runs.empty())
    throw Error(Fault::config, "report", "needs a run folder");
  std::vector<RunView> views;
  for (const std::string& path : asked.runs) views.push_back(read_run(path));
  if (asked.format == Format::text && views.size() == 1)
    std::fputs(to_text(views[0]).c_str(), stdout);
  else
    print(runs_table(views), asked.format);
  return 0;
}

}  // namespace

std::function<int()> report(Options& options) {
  auto asked = std::make_shared<Asked>();
  options.list("runs", asked->runs, "run folders");
  options.format(asked->format);
  return [asked] { return run(*asked); };
}

}  // namespace lockstep::cli
