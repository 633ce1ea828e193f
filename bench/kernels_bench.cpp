// SPDX-License-Identifier: Apache-2.0
// Each CPU kernel alone, with the share it reaches of what the machine can do:
// arithmetic for convolutions, bytes moved for updates and small batches. Both
// ceilings are measured here, on the same cores, before the first kernel.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/types.h>

#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/device/memory.h"
#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/linear.h"
#include "lockstep/kernels/update.h"

namespace lockstep {
namespace {

template <class Work>
double best_s(const Work& work) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const double begin_s = now_s();
    work();
    best = std::min(best, now_s() - begin_s);
  }
  return best;
}

// A square matrix product that fits the caches.
double flops_per_s() {
  static const double rate = [] {
    const at::Tensor a = torch::randn({768, 768}), b = torch::randn({768, 768});
    at::Tensor c = torch::empty({768, 768});
    return 2.0 * 768 * 768 * 768 / best_s([&] { at::mm_out(c, a, b); });
  }();
  return rate;
}

// v -= lr * g over arrays larger than the caches: two reads and a write.
double bytes_per_s() {
  static const double rate = [] {
    const at::Tensor v = torch::zeros({12'000'000}), g = torch::zeros_like(v);
    const UpdateSpan span{.values = v.data_ptr<float>(),
                          .grads = g.data_ptr<float>(),
                          .numel = v.numel()};
    return 12.0 * static_cast<double>(v.numel()) /
           best_s([&] { sgd_update(span, {.lr = 1, .zero_grads = false}); });
  }();
  return rate;
}

void report_share(benchmark::State& state, double floor_s, double begin_s) {
  const double each_s =
      (now_s() - begin_s) / static_cast<double>(state.iterations());
  state.counters["percent_of_floor"] = 100 * floor_s / each_s;
}

// Stages of the audio model: in, length, out, taps, padding.
struct Stage {
  std::int64_t in, length, out, taps, padding;
};
constexpr Stage kStages[] = {
    {1, 12000, 50, 200, 100}, {50, 3000, 30, 100, 50}, {30, 1000, 10, 50, 25}};

// Forward, then all gradients. Direct: percent of the arithmetic floor. The
// spectral method does less arithmetic, so it may be above 100 of the same.
void conv1d(benchmark::State& state) {
  const Stage& s = kStages[state.range(0)];
  const bool spectral = state.range(1) != 0, backward = state.range(2) != 0;
  const ConvShape shape{.batch = 10,
                        .in = s.in,
                        .length = s.length,
                        .out = s.out,
                        .taps = s.taps,
                        .padding = s.padding};
  const at::Tensor input = torch::randn({10, s.in, s.length});
  const at::Tensor weight = torch::randn({s.out, s.in, s.taps});
  const at::Tensor bias = torch::randn({s.out});
  const at::Tensor grad = torch::randn({10, s.out, shape.positions()});
  const auto run = spectral ? spectral_forward : direct_forward;
  const auto back = spectral ? spectral_backward : direct_backward;
  const bool input_too = s.in > 1;  // the first stage's input needs none
  const ConvForward kept = run(shape, input, weight, bias, best_isa());
  const double once = 20.0 * static_cast<double>(shape.positions() * s.in) *
                      static_cast<double>(s.out * s.taps);
  const double flops = backward ? (input_too ? 2 : 1) * once : once;
  const double floor_s = flops / flops_per_s(), begin_s = now_s();
  for (auto _ : state)
    if (backward)
      benchmark::DoNotOptimize(
          back(shape, kept, weight, grad, input_too, best_isa()));
    else
      benchmark::DoNotOptimize(run(shape, input, weight, bias, best_isa()));
  report_share(state, floor_s, begin_s);
}
BENCHMARK(conv1d)
    ->ArgNames({"stage", "spectral", "backward"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void linear_forward(benchmark::State& state) {
  const at::Tensor input = torch::randn({state.range(0), 12000});
  const at::Tensor weight = torch::randn({1000, 12000});
  const double floor_s = 48e6 / bytes_per_s(), begin_s = now_s();
  for (auto _ : state)
    benchmark::DoNotOptimize(small_batch_forward(input, weight, {}));
  report_share(state, floor_s, begin_s);
}
BENCHMARK(linear_forward)
    ->ArgName("batch")
    ->Arg(1)
    ->Arg(10)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void linear_weight_gradient(benchmark::State& state) {
  const at::Tensor input = torch::randn({state.range(0), 12000});
  const at::Tensor grad = torch::randn({state.range(0), 1000});
  at::Tensor to = torch::zeros({1000, 12000});
  const double floor_s = 48e6 / bytes_per_s(), begin_s = now_s();
  for (auto _ : state)
    small_batch_weight_gradient(grad, input, to, /*overwrite=*/true);
  report_share(state, floor_s, begin_s);
}
BENCHMARK(linear_weight_gradient)
    ->ArgName("batch")
    ->Arg(1)
    ->Arg(10)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// The update of 12 million parameters; seven passes over memory.
void adam(benchmark::State& state) {
  const at::Tensor flat = torch::zeros({4, 12'000'000});
  float* data = flat.data_ptr<float>();
  const std::int64_t n = flat.size(1);
  const UpdateSpan span{data, data + n, data + 2 * n, data + 3 * n, n};
  const AdamRule rule{.step_size = 1e-3f,
                      .take1 = 0.1f,
                      .beta2 = 0.999f,
                      .take2 = 1e-3f,
                      .eps = 1e-8f,
                      .zero_grads = state.range(0) != 0};
  const double passes = state.range(0) ? 8 : 7;
  const double floor_s = passes * 48e6 / bytes_per_s(), begin_s = now_s();
  for (auto _ : state) adam_update(span, rule);
  report_share(state, floor_s, begin_s);
}
BENCHMARK(adam)
    ->ArgName("zero_grads")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::keep_freed_memory();
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("threads", std::to_string(at::get_num_threads()));
  benchmark::AddCustomContext("instructions",
                              lockstep::isa_name(lockstep::best_isa()));
  benchmark::RunSpecifiedBenchmarks();
}
