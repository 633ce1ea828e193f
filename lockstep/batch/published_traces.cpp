// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/published_traces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <tuple>

#include "lockstep/batch/information.h"
#include "lockstep/core/csv.h"
#include "lockstep/core/file.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

Csv read(const fs::path& file) {
  return parse_csv(read_file(file, Fault::config), file.string(),
                   Fault::config);
}

double number(const Csv& csv, const CsvRow& row, std::string_view title) {
  const std::string& text = row.cells[csv.required(title, Fault::config)];
  const auto value = parse_number<double>(text);
  if (value && std::isfinite(*value)) return *value;
  throw Error(Fault::config, csv.place(row),
              fmt::format("{}: '{}' is not a number", title, text));
}

// Where ranks ran: nodes, then how many share the fullest one.
struct Layout {
  std::int64_t nodes = 0, fullest = 0;
  std::string name;
  // Fewer nodes first, then the more crowded.
  auto key() const { return std::tuple(nodes, -fullest, name); }
};

using Timings =
    std::map<std::int64_t, std::map<std::string, std::vector<StepTime>>>;

struct Measured {
  Timings by_ranks;
  std::map<std::string, Layout> layouts;
};

void add(Measured& m, std::int64_t ranks, const Layout& layout, StepTime t) {
  m.layouts.emplace(layout.name, layout);
  m.by_ranks[ranks][layout.name].push_back(t);
}

void add_placements(Measured& m, const fs::path& file) {
  const Csv csv = read(file);
  for (const CsvRow& row : csv.rows) {
    const std::string& digits =
        row.cells[csv.required("placement", Fault::config)];
    Layout layout{static_cast<std::int64_t>(digits.size()), 0, digits};
    std::int64_t ranks = 0;
    for (const char c : digits) {
      if (c < '1' || c > '9')
        throw Error(Fault::config, csv.place(row),
                    "placement '" + digits + "' is not one digit a node");
      ranks += c - '0';
      layout.fullest = std::max<std::int64_t>(layout.fullest, c - '0');
    }
    add(m, ranks, layout,
        {number(csv, row, "local_bsz"), number(csv, row, "step_time")});
  }
}

void add_scalability(Measured& m, const fs::path& file) {
  const Csv csv = read(file);
  for (const CsvRow& row : csv.rows) {
    const auto nodes = static_cast<std::int64_t>(number(csv, row, "num_nodes"));
    const auto ranks =
        static_cast<std::int64_t>(number(csv, row, "num_replicas"));
    if (nodes < 1 || ranks < nodes)
      throw Error(Fault::config, csv.place(row), "fewer ranks than nodes");
    add(m, ranks,
        {nodes, (ranks + nodes - 1) / nodes,
         fmt::format("{} on {} nodes", ranks, nodes)},
        {number(csv, row, "local_bsz"), number(csv, row, "step_time")});
  }
}

Measured measured_steps(const fs::path& folder) {
  Measured m;
  add_placements(m, folder / "placements.csv");
  if (fs::exists(folder / "scalability.csv"))
    add_scalability(m, folder / "scalability.csv");
  return m;
}

std::vector<StepTime> densest(const Measured& m, std::int64_t ranks) {
  const auto found = m.by_ranks.find(ranks);
  if (found == m.by_ranks.end())
    throw Error(Fault::config, "--devices",
                fmt::format("no step was timed on {} devices", ranks));
  const auto best = std::ranges::min_element(
      found->second, {},
      [&](const auto& entry) { return m.layouts.at(entry.first).key(); });
  std::vector<StepTime> points = best->second;
  std::ranges::sort(points, {}, &StepTime::per_rank_batch);
  return points;
}

std::optional<std::int64_t> batch_of(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view kHead = "validation-", kTail = ".csv";
  if (!name.starts_with(kHead) || !name.ends_with(kTail)) return std::nullopt;
  return parse_number<std::int64_t>(std::string_view(name).substr(
      kHead.size(), name.size() - kHead.size() - kTail.size()));
}

std::map<std::int64_t, Csv> validation_files(const fs::path& folder) {
  std::map<std::int64_t, Csv> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto batch = batch_of(entry.path())) {
      if (*batch < 1)
        throw Error(Fault::config, entry.path().string(), "has no batch size");
      files.emplace(*batch, read(entry.path()));
    }
  return files;
}

BatchRun run_of(const Csv& csv, double step_s, double base_batch,
                std::int64_t classes) {
  BatchRun run{.name = csv.name, .arm = {}};
  run.step_s = step_s;
  for (const CsvRow& row : csv.rows) {
    const double steps = number(csv, row, "iteration");
    const double accuracy = number(csv, row, "metric");
    if (!(accuracy >= 0 && accuracy <= 1))
      throw Error(Fault::config, csv.place(row), "metric is not an accuracy");
    run.curve.push_back({steps * step_s, steps,
                         information_of_accuracy(accuracy, classes), accuracy});
    const double sq = number(csv, row, "grad_sqr");
    if (sq > 0)
      run.noise_scale.push_back(base_batch * number(csv, row, "grad_var") / sq);
  }
  return run;
}

}  // namespace

bool holds_published_traces(const fs::path& folder) {
  return fs::is_regular_file(folder / "placements.csv");
}

std::vector<std::int64_t> published_rank_counts(const fs::path& folder) {
  std::vector<std::int64_t> out;
  for (const auto& [ranks, unused] : measured_steps(folder).by_ranks)
    if (std::has_single_bit(static_cast<std::uint64_t>(ranks)))
      out.push_back(ranks);
  return out;
}

BatchRuns read_published_traces(const fs::path& folder,
                                std::span<const std::int64_t> ranks,
                                std::int64_t classes) {
  const Measured steps = measured_steps(folder);
  const auto files = validation_files(folder);
  if (files.empty())
    throw Error(Fault::config, folder.string(),
                "holds no validation-<batch>.csv");
  BatchRuns out{.classes = classes,
                .independent = false,
                .information = "Fano's bound of the accuracy"};
  const auto base = static_cast<double>(files.begin()->first);
  for (const std::int64_t k : ranks) {
    const std::vector<StepTime>& points = out.step_times[k] = densest(steps, k);
    std::vector<std::int64_t> untimed;
    for (const auto& [batch, csv] : files) {
      const double share = static_cast<double>(batch) / static_cast<double>(k);
      const auto step_s = measured_step_s(points, share);
      if (!step_s) {
        untimed.push_back(batch);
        continue;
      }
      out.runs.push_back(run_of(csv, *step_s, base, classes));
      out.runs.back().ranks = k;
      out.runs.back().batch = static_cast<double>(batch);
    }
    if (!untimed.empty())
      out.notes.push_back(fmt::format(
          "{} devices: batch {} left out, no step so small was timed", k,
          fmt::join(untimed, ", ")));
  }
  return out;
}

}  // namespace lockstep
