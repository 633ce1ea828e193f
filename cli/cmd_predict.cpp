// SPDX-License-Identifier: Apache-2.0
// lockstep predict RECIPE|PROFILE|MODEL: what N devices would do, for every
// combination of devices, links, strategies, batch sizes and ranks.
// lockstep predict --table IN --out OUT: each row of a table of runs.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/predict_table.h"
#include "cli/what_if.h"
#include "lockstep/core/file.h"
#include "lockstep/report/predict_tables.h"
#include "lockstep/report/speedup_svg.h"

namespace lockstep::cli {
namespace {

struct PredictAsked {
  WhatIf what_if;
  TableAsked table;
  std::string figure;
  Format format = Format::text;
};

int run_predict(const PredictAsked& asked) {
  if (asked.table.any()) return run(asked.table);
  const Subject subject = subject_of(asked.what_if);
  const Grid grid = grid_of(asked.what_if, subject);
  const std::vector<GridPoint> points = predict_grid(subject, grid);
  std::fprintf(
      stderr, "# %s, predicted, not measured, from %s\n", subject.name.c_str(),
      subject.profile ? "its profile" : "its layers and the device's peaks");
  if (!asked.figure.empty())
    write_file(asked.figure, speedup_svg(subject, grid, points));
  if (asked.format != Format::text) {
    print(prediction_rows(subject, grid, points), asked.format);
    return 0;
  }
  print(prediction_summary(grid, points), asked.format);
  for (const std::string& line : flip_lines(grid, points))
    std::printf("%s\n", line.c_str());
  return 0;
}

}  // namespace

std::function<int()> predict(Options& options) {
  auto asked = std::make_shared<PredictAsked>();
  declare(options, asked->what_if);
  options.value("--figure", asked->figure,
                "also draw speed-up against ranks into this SVG");
  declare(options, asked->table);
  options.format(asked->format);
  return [asked] { return run_predict(*asked); };
}

}  // namespace lockstep::cli
