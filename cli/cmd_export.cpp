// SPDX-License-Identifier: Apache-2.0
// lockstep export --tensorboard RUN...: runs as other programs read them.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "lockstep/core/error.h"
#include "lockstep/report/tensorboard.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

struct ExportAsked {
  std::vector<std::string> runs;
  std::string out;
  bool tensorboard = false;
};

int run_export(const ExportAsked& asked) {
  if (!asked.tensorboard)
    throw Error(Fault::config, "export", "say for what: --tensorboard");
  if (asked.runs.empty())
    throw Error(Fault::config, "export", "needs a run folder");
  for (const std::string& path : asked.runs) {
    const RunView view = read_run(path);
    const fs::path name = fs::absolute(path).lexically_normal();
    const fs::path folder =
        asked.out.empty() ? fs::path(path) / "tensorboard"
        : asked.runs.size() == 1
            ? fs::path(asked.out)
            : fs::path(asked.out) /
                  (name.has_filename() ? name : name.parent_path()).filename();
    std::printf("%s\n", write_tensorboard(view, folder).string().c_str());
  }
  return 0;
}

}  // namespace

// `export` is a word of C++.
std::function<int()> export_run(Options& options) {
  auto asked = std::make_shared<ExportAsked>();
  options.list("runs", asked->runs, "run folders");
  options.flag("--tensorboard", asked->tensorboard,
               "event files that TensorBoard reads");
  options.value("--out", asked->out,
                "folder for the files, one below it for each of several runs "
                "(RUN/tensorboard)");
  return [asked] { return run_export(*asked); };
}

}  // namespace lockstep::cli
