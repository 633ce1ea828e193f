// SPDX-License-Identifier: Apache-2.0
// lockstep batch STUDY|FOLDER: which batch size, by every criterion at once.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/batch_devices.h"
#include "cli/commands.h"
#include "cli/lists.h"
#include "lockstep/analyse/batch_runs.h"
#include "lockstep/batch/compare.h"
#include "lockstep/batch/published_traces.h"
#include "lockstep/core/error.h"
#include "lockstep/report/batch_report.h"

namespace lockstep::cli {
namespace {

// What the published traces leave unsaid: they are of CIFAR-10.
constexpr std::int64_t kCifarClasses = 10, kCifarTestImages = 10000;

struct BatchAsked {
  std::string folder, devices, crossing = "interpolated", table = "batches";
  ClusterAsked cluster;
  double accuracy = 0, delta = 0.02;
  std::int64_t classes = 0, eval_examples = 0;
  Format format = Format::text;
};

std::vector<std::int64_t> devices_of(const BatchAsked& asked) {
  if (asked.devices.empty()) return published_rank_counts(asked.folder);
  return numbers_of("--devices", asked.devices);
}

// Where a study is to be continued on more devices.
std::optional<DevicesAsked> continued_on(const BatchAsked& asked) {
  if (!asked.cluster.any()) {
    if (!asked.devices.empty() && !holds_published_traces(asked.folder))
      throw Error(Fault::config, "--devices",
                  "how are they joined? a study's own devices are measured",
                  "--link PRESET or --hardware NAME|FILE predicts others");
    return std::nullopt;
  }
  if (holds_published_traces(asked.folder))
    throw Error(Fault::config, "--link", "published traces have their own");
  return devices_asked(asked.folder, asked.cluster, asked.devices);
}

BatchRuns batch_runs_of(const BatchAsked& asked) {
  if (!holds_published_traces(asked.folder)) {
    BatchRuns runs = read_batch_runs(asked.folder, asked.classes);
    if (asked.eval_examples > 0) runs.eval_examples = asked.eval_examples;
    return runs;
  }
  const auto classes = asked.classes > 0 ? asked.classes : kCifarClasses;
  BatchRuns runs =
      read_published_traces(asked.folder, devices_of(asked), classes);
  runs.eval_examples =
      asked.eval_examples > 0 ? asked.eval_examples : kCifarTestImages;
  runs.notes.push_back(fmt::format(
      "published traces: {} classes and {} validation examples are taken",
      runs.classes, runs.eval_examples));
  return runs;
}

CompareOptions options_of(const BatchAsked& asked) {
  CompareOptions out{.delta = asked.delta};
  if (asked.accuracy != 0) {
    if (!(asked.accuracy > 0 && asked.accuracy < 1))
      throw Error(Fault::config, "--accuracy",
                  fmt::format("{} is not a share", asked.accuracy),
                  "0.94 is 94 %");
    out.target_accuracy = asked.accuracy;
  }
  if (asked.crossing == "evaluation")
    out.crossing = Crossing::evaluation;
  else if (asked.crossing != "interpolated")
    throw Error(Fault::config, "--crossing",
                "'" + asked.crossing + "' is not a way to read a curve",
                "interpolated or evaluation");
  return out;
}

int run_batch(const BatchAsked& asked) {
  const CompareOptions options = options_of(asked);
  const BatchReport report =
      make_batch_report(batch_runs_of(asked), options, continued_on(asked));
  const std::string text = to_string(report, asked.format, asked.table);
  for (const std::string& line : report.context)
    fmt::print(stderr, "# {}\n", line);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

std::function<int()> batch(Options& options) {
  auto asked = std::make_shared<BatchAsked>();
  options.value("folder", asked->folder,
                "study folder, or one with published traces "
                "(validation-<batch>.csv, placements.csv)",
                true);
  options.value("--accuracy", asked->accuracy,
                "target of information and plain time, such as 0.94");
  options.value("--delta", asked->delta,
                "target: this share below the best final information (0.02)");
  options.value("--crossing", asked->crossing,
                "a target is reached: interpolated between evaluations, or at "
                "the first evaluation that shows it");
  options.value("--devices", asked->devices,
                "device counts, such as 1,2,4,...,64: of published traces, or "
                "predicted with --link or --hardware");
  declare(options, asked->cluster);
  options.value("--classes", asked->classes,
                "classes of the labels, where no record says");
  options.value("--eval-examples", asked->eval_examples,
                "validation examples, where no record says");
  options.value(
      "--table", asked->table,
      "with --csv: batches, choices, curve, sensitivity, own or devices");
  options.format(asked->format);
  return [asked] { return run_batch(*asked); };
}

}  // namespace lockstep::cli
