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

// One replica, stepped with recording on or off: two replicas would differ by
// where their memory lies more than by what is asked here.
struct Replica {
  Replica(const RunConfig& config, Device& device, Group& group)
      : model(make_model(config.model)),
        params(*model.module),
        optimizer(config.optim, params, device),
        on(0, device.time_source(), {.record = true}),
        off(0, device.time_source(), {.record = false}),
        with(make_strategy({config, model, params, device, group, on})),
        without(make_strategy({config, model, params, device, group, off})) {}

  double step(const StepInput& input, bool record) {
    Recorder& recorder = record ? on : off;
    const double begin = now_s();
    recorder.begin_step(0, 0);
    recorder.cut(Span::data);
    recorder.cut(Span::copy);
    (record ? with : without)->step(input, optimizer);
    recorder.end_step(10);
    return now_s() - begin;
  }

  Model model;
  FlatParams params;
  Optimizer optimizer;
  Recorder on, off;
  std::unique_ptr<Strategy> with, without;
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
    Replica replica(config, *device, group);
    std::vector<double> differences, seconds;
    for (std::int64_t i = -20; i < pairs; ++i) {
      // Who goes first alternates too.
      const bool first = i % 2 == 0;
      const double a = replica.step(input, first);
      const double b = replica.step(input, !first);
      if (i < 0) continue;
      const double with = first ? a : b, without = first ? b : a;
      differences.push_back((with - without) / without);
      seconds.push_back(without);
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
