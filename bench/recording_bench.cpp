// SPDX-License-Identifier: Apache-2.0
// What recording costs: nanoseconds a mark, times marks a step, over the step;
// and the same asked directly, by steps that alternate with recording on and
// off. recording_bench [PAIRS [DEVICE [MODEL BATCH [EVERY]]]], linear at batch
// 10 on the CPU unless told otherwise; EVERY as measure.every. On a
// GPU, which the host runs ahead of, a hundred steps alternate with a hundred.
// A line of JSON.
#include <ATen/ATen.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
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
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

constexpr int kMarksAStep = 7;

struct Case {
  std::int64_t pairs = 1000;
  std::string device = "cpu", model = "linear";
  std::int64_t batch = 10, every = 0;
  bool gpu() const { return device != "cpu"; }
  std::int64_t steps() const { return gpu() ? 100 : 1; }  // of one side
};

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
  Replica(const RunConfig& config, Device& on_device, Group& group)
      : device(on_device),
        model(prepare_model(config, device)),
        params(*model.module),
        optimizer(config.optim, params, device),
        on(0, device.time_source(),
           {.record = true, .every = config.measure.every}),
        off(0, device.time_source(), {.record = false}),
        with(make_strategy({config, model, params, device, group, on})),
        without(make_strategy({config, model, params, device, group, off})) {}

  // Seconds of one step, from so many.
  double steps(const StepInput& input, std::int64_t count, bool record) {
    Recorder& recorder = record ? on : off;
    const double begin = now_s();
    for (std::int64_t i = 0; i < count; ++i) {
      recorder.begin_step(i, 0);
      recorder.cut(Span::data);
      recorder.cut(Span::copy);
      (record ? with : without)->step(input, optimizer);
      recorder.end_step(input.global_samples);
    }
    device.synchronize();
    const double seconds = (now_s() - begin) / static_cast<double>(count);
    recorder.collect(std::vector<double>(static_cast<std::size_t>(count)));
    return seconds;
  }

  Device& device;
  Model model;
  FlatParams params;
  Optimizer optimizer;
  Recorder on, off;
  std::unique_ptr<Strategy> with, without;
};

RunConfig config_of(const Case& c) {
  RunConfig config;
  config.model.classes = 10;
  config.train.device = c.device;
  config.batch.per_rank = c.batch;
  config.measure.every = c.every;
  config.optim.kind = OptimKind::adam;
  config.model.kind =
      c.model == "resnet18" ? ModelKind::resnet18 : ModelKind::linear;
  if (!c.gpu()) return config;
  config.train.graph = GraphUse::on;
  config.train.precision =
      c.model == "resnet18" ? Precision::bf16 : Precision::tf32;
  config.train.channels_last = c.model == "resnet18";
  return config;
}

StepInput input_of(const Case& c, const RunConfig& config, Device& device) {
  at::Tensor inputs = c.model == "resnet18"
                          ? at::randn({c.batch, 3, 32, 32})
                          : at::randn({c.batch, kClipSamples});
  if (config.train.channels_last)
    inputs = inputs.contiguous(at::MemoryFormat::ChannelsLast);
  return {.passes = {{inputs.to(device.torch()),
                      at::randint(10, {c.batch}, at::kLong).to(device.torch()),
                      c.batch, /*in_place=*/c.gpu()}},
          .global_samples = c.batch,
          .lr = 1e-4};
}

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

Json measure(const Case& c, Group& group) {
  const RunConfig config = config_of(c);
  const auto device = prepare_device(config, group);
  const StepInput input = input_of(c, config, *device);
  Replica replica(config, *device, group);
  std::vector<double> differences, seconds;
  for (std::int64_t i = c.gpu() ? -2 : -20; i < c.pairs; ++i) {
    // Who goes first alternates too.
    const bool first = i % 2 == 0;
    const double a = replica.steps(input, c.steps(), first);
    const double b = replica.steps(input, c.steps(), !first);
    if (i < 0) continue;
    const double with = first ? a : b, without = first ? b : a;
    differences.push_back((with - without) / without);
    seconds.push_back(without);
  }
  std::ranges::sort(seconds);
  const double step_s = seconds[seconds.size() / 2];
  const double mark_ns = ns_a_mark(*device);
  return {{"model", c.model},
          {"batch", c.batch},
          {"device", device->info()},
          {"every", replica.on.every()},
          {"steps_a_side", c.steps()},
          {"median_step_s", step_s},
          {"ns_a_mark", mark_ns},
          {"marks_a_step", kMarksAStep},
          // Of a step in pieces; on a GPU the pieces cost more than marks.
          {"share_by_count", mark_ns * 1e-9 * kMarksAStep / step_s},
          {"paired", paired(std::move(differences))}};
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  using namespace lockstep;
  keep_freed_memory();
  try {
    Case c;
    if (argc > 1) c.pairs = std::atoll(argv[1]);
    if (argc > 2) c.device = argv[2];
    if (argc > 4) c.model = argv[3], c.batch = std::atoll(argv[4]);
    if (argc > 5) c.every = std::atoll(argv[5]);
    run_ranks(1, {}, [&](Group& group) {
      std::puts(measure(c, group).dump().c_str());
    });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "recording_bench: %s\n", error.what());
    return 1;
  }
}
