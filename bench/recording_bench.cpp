// SPDX-License-Identifier: Apache-2.0
// What recording costs: nanoseconds a mark, times marks a step, over the step;
// and the same asked directly, by steps that alternate with recording on and
// off. recording_bench [PAIRS], linear at batch 10; a line of JSON.
#include <ATen/ATen.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lockstep/comm/thread_group.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"
#include "lockstep/device/device.h"
#include "lockstep/device/memory.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/plan/model_sizes.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {
namespace {

constexpr int kMarksAStep = 7;

double ns_a_mark(Device& device) {
  Recorder recorder(0, device.time_source(), {});
  constexpr int kSteps = 20'000;
  const double begin = now_s();
  for (int i = 0; i < kSteps; ++i) {
    recorder.begin_step(i, 0);
    for (int k = 1; k < kMarksAStep; ++k) recorder.cut(Span::forward);
    recorder.end_step(1);
  }
  recorder.collect(std::vector<double>(kSteps));
  return (now_s() - begin) / (kSteps * kMarksAStep) * 1e9;
}

// One replica with its own recorder; both see the same batch.
struct Side {
  Side(const RunConfig& config, Device& device, Group& group, bool record)
      : model(make_model(config.model)),
        params(*model.module),
        optimizer(config.optim, params, device),
        recorder(0, device.time_source(), {.record = record}),
        strategy(
            make_strategy({config, model, params, device, group, recorder})) {}

  double step(const StepInput& input) {
    const double begin = now_s();
    recorder.begin_step(steps++, 0);
    recorder.cut(Span::data);
    recorder.cut(Span::copy);
    strategy->step(input, optimizer);
    recorder.end_step(10);
    return now_s() - begin;
  }

  Model model;
  FlatParams params;
  Optimizer optimizer;
  Recorder recorder;
  std::unique_ptr<Strategy> strategy;
  std::int64_t steps = 0;
};

// Median of paired relative differences with its 95 % interval by ranks.
Json paired(std::vector<double> differences) {
  std::ranges::sort(differences);
  const auto n = static_cast<double>(differences.size());
  const auto at = [&](double rank) {
    return differences[static_cast<std::size_t>(
        std::clamp(std::round(rank), 0.0, n - 1))];
  };
  return Json{{"pairs", differences.size()},
              {"median_share", at(n / 2)},
              {"low95_share", at(n / 2 - 0.98 * std::sqrt(n))},
              {"high95_share", at(n / 2 + 0.98 * std::sqrt(n))}};
}

Json measure(std::int64_t pairs) {
  Json out;
  run_ranks(1, {}, [&](Group& group) {
    RunConfig config;
    config.model.kind = ModelKind::linear;
    config.model.classes = 10;
    config.optim.kind = OptimKind::adam;
    config.batch.per_rank = 10;
    const auto device = open_device("cpu");
    const StepInput input{.passes = {{at::randn({10, kClipSamples}),
                                      at::randint(10, {10}, at::kLong), 10}},
                          .global_samples = 10,
                          .lr = 1e-4};
    Side on(config, *device, group, true), off(config, *device, group, false);
    std::vector<double> differences, seconds;
    for (std::int64_t i = -20; i < pairs; ++i) {
      // Who goes first alternates too.
      const double a = i % 2 == 0 ? on.step(input) : 0;
      const double b = off.step(input);
      const double first = i % 2 == 0 ? a : on.step(input);
      if (i < 0) continue;
      differences.push_back((first - b) / b);
      seconds.push_back(b);
    }
    std::ranges::sort(seconds);
    const double step_s = seconds[seconds.size() / 2];
    const double mark_ns = ns_a_mark(*device);
    out = {{"model", "linear"},
           {"batch", 10},
           {"median_step_s", step_s},
           {"ns_a_mark", mark_ns},
           {"marks_a_step", kMarksAStep},
           {"share_by_count", mark_ns * 1e-9 * kMarksAStep / step_s},
           {"paired", paired(std::move(differences))}};
  });
  return out;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::keep_freed_memory();
  const std::int64_t pairs = argc > 1 ? std::atoll(argv[1]) : 1000;
  std::puts(lockstep::measure(pairs).dump().c_str());
}
