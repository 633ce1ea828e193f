// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/analyse/student.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

using RunSeries = std::vector<std::vector<double>>;

constexpr std::size_t kFewestBlocksASide = 6;

struct Metric {
  const char* name;
  double StepSample::*field;
};
constexpr std::array kMetrics = {
    Metric{"step_s", &StepSample::step_s},
    Metric{"data_s", &StepSample::data_s},
    Metric{"copy_s", &StepSample::copy_s},
    Metric{"forward_s", &StepSample::forward_s},
    Metric{"backward_s", &StepSample::backward_s},
    Metric{"exposed_comm_s", &StepSample::exposed_comm_s},
    Metric{"optim_s", &StepSample::optim_s},
    Metric{"wait_s", &StepSample::wait_s},
};

std::vector<double> all_of(const RunSeries& runs) {
  std::vector<double> out;
  for (const auto& run : runs) out.insert(out.end(), run.begin(), run.end());
  return out;
}

double overall_median(const RunSeries& runs) {
  std::vector<double> all = all_of(runs);
  return all.empty() ? std::nan("") : quantile(std::move(all), 0.5);
}

// One side of the comparison: a mean of nearly independent numbers.
struct Side {
  double mean = 0, variance_of_mean = 0, freedom = 0;
  std::size_t blocks = 0;
};

Side side_of(const RunSeries& runs, std::size_t length) {
  std::vector<double> blocks, means;
  for (const auto& run : runs) {
    const std::vector<double> some = block_medians(run, length);
    if (!some.empty()) means.push_back(mean(some));
    blocks.insert(blocks.end(), some.begin(), some.end());
  }
  Side side{.mean = blocks.empty() ? std::nan("") : mean(blocks),
            .blocks = blocks.size()};
  if (blocks.size() < 2) return side;
  const auto n = static_cast<double>(blocks.size());
  side.variance_of_mean = std::pow(standard_deviation(blocks), 2) / n;
  side.freedom = n - 1;
  const auto runs_counted = static_cast<double>(means.size());
  const double between =
      means.size() > 1 ? std::pow(standard_deviation(means), 2) / runs_counted
                       : 0;
  if (between > side.variance_of_mean) {
    side.variance_of_mean = between;
    side.freedom = runs_counted - 1;
  }
  return side;
}

double welch_freedom(const Side& a, const Side& b) {
  const double sum = a.variance_of_mean + b.variance_of_mean;
  const double parts = std::pow(a.variance_of_mean, 2) / a.freedom +
                       std::pow(b.variance_of_mean, 2) / b.freedom;
  return parts > 0 ? sum * sum / parts : a.freedom + b.freedom;
}

std::size_t length_for(const RunSeries& a, const RunSeries& b) {
  std::size_t length = kShortestBlock;
  for (const RunSeries* side : {&a, &b})
    for (const auto& run : *side) length = std::max(length, block_length(run));
  return length;
}

void judge(MetricChange& m, double margin) {
  if (m.low > margin)
    m.change = Change::slower;
  else if (m.high < -margin)
    m.change = Change::faster;
  else if (m.low >= -margin && m.high <= margin)
    m.change = Change::same;
  else
    m.why = fmt::format(
        "the interval crosses the margin of {:.1f} %: more steps would tell",
        100 * margin);
}

}  // namespace

std::string_view word(Change change) {
  constexpr std::string_view kWords[] = {"FASTER", "SLOWER", "SAME", "UNSURE"};
  return kWords[static_cast<int>(change)];
}

MetricChange compare_series(const std::string& metric, const RunSeries& a,
                            const RunSeries& b, double a_step_s,
                            const CompareRunsOptions& options) {
  MetricChange m{
      .metric = metric, .a_s = overall_median(a), .b_s = overall_median(b)};
  m.a_count = all_of(a).size(), m.b_count = all_of(b).size();
  const std::size_t length = length_for(a, b);
  const Side one = side_of(a, length), two = side_of(b, length);
  m.a_blocks = one.blocks, m.b_blocks = two.blocks;
  m.effect = (m.b_s - m.a_s) / a_step_s;
  m.low = m.high = std::nan("");
  if (one.blocks < kFewestBlocksASide || two.blocks < kFewestBlocksASide) {
    m.why = fmt::format(
        "too few independent steps: {} and {} blocks of {}, {} are needed",
        one.blocks, two.blocks, length, kFewestBlocksASide);
    return m;
  }
  const double t =
      student_quantile(0.5 + options.level / 2, welch_freedom(one, two));
  const double reach =
      t * std::sqrt(one.variance_of_mean + two.variance_of_mean);
  m.effect = (two.mean - one.mean) / a_step_s;
  m.low = m.effect - reach / a_step_s, m.high = m.effect + reach / a_step_s;
  judge(m, options.margin);
  return m;
}

TimedRun read_timed(const std::filesystem::path& path) {
  const RunFacts facts = read_facts(path, {.draws = 1});
  if (facts.step_s.empty())
    throw Error(Fault::store, path.string(), "holds no timed step",
                "a comparison needs its steps.csv; measure.record must be on");
  TimedRun run{path.string(), facts.hardware + " (" + facts.host + ")",
               settled_steps(path / "steps.csv")};
  std::erase_if(run.steps, [](const StepSample& s) { return s.rank != 0; });
  return run;
}

std::vector<MetricChange> compare_runs(const std::vector<TimedRun>& a,
                                       const std::vector<TimedRun>& b,
                                       const CompareRunsOptions& options) {
  const auto series = [](const std::vector<TimedRun>& runs,
                         double StepSample::*field) {
    RunSeries out;
    for (const TimedRun& run : runs) {
      auto& values = out.emplace_back();
      for (const StepSample& s : run.steps)
        if (std::isfinite(s.*field)) values.push_back(s.*field);
    }
    return out;
  };
  const double step = overall_median(series(a, &StepSample::step_s));
  std::vector<MetricChange> out;
  for (const Metric& metric : kMetrics) {
    const RunSeries one = series(a, metric.field),
                    two = series(b, metric.field);
    // A piece that neither run spends a thousandth of a step on says nothing.
    if (std::fmax(overall_median(one), overall_median(two)) > 1e-3 * step)
      out.push_back(compare_series(metric.name, one, two, step, options));
  }
  return out;
}

}  // namespace lockstep
