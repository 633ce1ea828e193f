// SPDX-License-Identifier: Apache-2.0
// lockstep data: its options, the same in every build.
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "cli/commands.h"
#include "cli/data_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {
namespace {

constexpr std::array<std::string_view, 4> kActions = {"list", "check", "make",
                                                      "fetch"};

void check_asked(const DataAsked& asked) {
  if (std::ranges::find(kActions, asked.action) == kActions.end())
    throw Error(Fault::config, "data",
                "'" + asked.action + "' is not something data can do",
                "it may be list, check, make or fetch");
  if (asked.action != "make" && !asked.folder.empty())
    throw Error(Fault::config, "data " + asked.action,
                "takes no folder: '" + asked.folder + "'");
  if (asked.samples < 1 || asked.classes < 2 || asked.px < 8 ||
      asked.px > 4096 || asked.workers < 0 || asked.workers > 1024)
    throw Error(Fault::config, "data " + asked.action,
                "--samples must be at least 1, --classes 2, --px 8 to 4096, "
                "--workers 0 to 1024");
}

}  // namespace

std::function<int()> data(Options& options) {
  auto asked = std::make_shared<DataAsked>();
  options.value("action", asked->action, "list, check, make or fetch", true);
  options.value("kind", asked->kind, "digits, cifar10, images or text");
  options.value("dir", asked->folder, "make: the folder to write");
  options.value("--path", asked->path, "check: data that lies elsewhere");
  options.value("--workers", asked->workers, "check: threads that decode");
  options.value("--samples", asked->samples,
                "make: files, records or lines of text");
  options.value("--classes", asked->classes, "make images: how many classes");
  options.value("--px", asked->px, "make images: shorter side in pixels");
  options.value("--seed", asked->seed, "make: seed of what is made up");
  options.value("--to", asked->to, "fetch: folder that holds the data");
  options.value("--url", asked->url, "fetch: take it from here instead");
  options.format(asked->format);
  return [asked] {
    check_asked(*asked);
    return run_data(*asked);
  };
}

}  // namespace lockstep::cli
