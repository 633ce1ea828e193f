// SPDX-License-Identifier: Apache-2.0
// lockstep compare A B: is B slower than A, metric by metric. A side is a run
// folder, or a folder of runs of one configuration.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "lockstep/core/error.h"
#include "lockstep/report/compare_report.h"

namespace lockstep::cli {
namespace {

constexpr int kFoundSlower = 7;

struct CompareAsked {
  std::string a, b, fail_on;
  double margin_percent = 2;
  bool across_machines = false;
  Format format = Format::text;
};

void check_compare(const CompareAsked& asked) {
  if (!asked.fail_on.empty() && asked.fail_on != "slower")
    throw Error(Fault::config, "--fail-on",
                "there is no '" + asked.fail_on + "'", "use slower");
  if (!(asked.margin_percent >= 0 && asked.margin_percent < 100))
    throw Error(Fault::config, "--margin-percent",
                fmt::format("{} is out of range", asked.margin_percent));
}

int run_compare(const CompareAsked& asked) {
  check_compare(asked);
  const Comparison comparison =
      compare_folders(asked.a, asked.b, {.margin = asked.margin_percent / 100});
  for (const std::string& note : comparison.notes)
    std::fprintf(stderr, "# %s\n", note.c_str());
  if (comparison.machines_differ && !asked.fail_on.empty() &&
      !asked.across_machines)
    throw Error(Fault::config, "--fail-on slower",
                "the two sides ran on different machines: a slower machine is "
                "not slower code",
                "add --across-machines if that is what you mean");
  print(compare_table(comparison), asked.format);
  if (asked.format == Format::text)
    std::printf("%s\n", sentence_of(comparison).c_str());
  return asked.fail_on == "slower" && comparison.any_slower() ? kFoundSlower
                                                              : 0;
}

}  // namespace

std::function<int()> compare(Options& options) {
  auto asked = std::make_shared<CompareAsked>();
  options.value("a", asked->a, "run folder, or folder of runs: the old side",
                true);
  options.value("b", asked->b, "run folder, or folder of runs: the new side",
                true);
  options.value("--fail-on", asked->fail_on,
                "slower: exit with 7 when a metric of B is SLOWER");
  options.value("--margin-percent", asked->margin_percent,
                "share of a step that does not matter (2)");
  options.flag("--across-machines", asked->across_machines,
               "let --fail-on judge runs of different machines");
  options.format(asked->format);
  return [asked] { return run_compare(*asked); };
}

}  // namespace lockstep::cli
