// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/find_batch.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <optional>
#include <system_error>

#include "lockstep/batch/goodput.h"
#include "lockstep/comm/agree.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/train/memory_limit.h"
#include "lockstep/train/prepare.h"
#include "lockstep/train/trainer.h"

namespace lockstep {
namespace {

// Share of the time for the noise scale; the rest is for sizes.
constexpr double kNoiseTime = 0.3;
constexpr std::int64_t kMostNoiseSteps = 300;
constexpr double kTriedMemory = 0.9;  // of what is there

// Everything a trial works with, as run() makes it, and nothing kept.
struct Bench {
  Bench(const RunConfig& asked, Group& ranks)
      : device(prepare_device(asked, ranks)),
        data(open_data(asked.data, asked.model)),
        config(complete(asked, data)),
        model(prepare_model(config, *device)),
        params(*model.module),
        optimizer(config.optim, params, *device),
        recorder(ranks.rank(), device->time_source(), {true, 1}),
        group(ranks),
        strategy(
            make_strategy({config, model, params, *device, ranks, recorder})) {
    strategy->share_out(optimizer);
    strategy->start();
    optimizer.state();  // takes its memory before sizes are tried
  }

  std::unique_ptr<Device> device;
  DataSplit data;
  RunConfig config;
  Model model;
  FlatParams params;
  Optimizer optimizer;
  Recorder recorder;
  Group& group;
  std::unique_ptr<Strategy> strategy;
};

// `samples` training samples on the device, repeated where there are fewer.
Batch samples_of(Bench& b, std::int64_t samples) {
  const std::int64_t read =
      std::min({samples, b.data.train->size(), std::int64_t{64}});
  std::vector<std::int64_t> order(static_cast<std::size_t>(read));
  for (std::int64_t i = 0; i < read; ++i)
    order[static_cast<std::size_t>(i)] = i;
  Loader loader(*b.data.train, std::move(order), {.batch = read});
  Batch batch = to_device(*loader.next(), b.device->torch(), b.config.train);
  const at::Tensor index =
      at::arange(samples,
                 at::TensorOptions(at::kLong).device(b.device->torch())) %
      read;
  batch.inputs = batch.inputs.index_select(0, index);
  batch.targets = batch.targets.index_select(0, index);
  batch.samples = samples;
  return to_device(batch, b.device->torch(), b.config.train);
}

// Forward and backward of this rank alone: nothing is sent.
bool fits_here(Bench& b, std::int64_t samples) {
  // Given back on the way out: to tell the others takes some memory too.
  const std::vector<char> reserve(1 << 20);
  try {
    const Batch batch = samples_of(b, samples);
    const at::Tensor logits = forward(b.model, batch.inputs, b.config.train);
    loss_of(logits, batch.targets, b.config.train.label_smoothing).backward();
    b.device->synchronize();
  } catch (const c10::OutOfMemoryError&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::system_error&) {
    return false;  // not even a thread's stack
  } catch (const c10::Error& e) {
    // LibTorch's own way to say that the CPU had no more.
    const std::string what = e.what();
    if (what.find("alloc") == std::string::npos &&
        what.find("memory") == std::string::npos)
      throw;
    return false;
  }
  return true;
}

// Whole steps of the strategy with a rate of zero. Median of three.
double step_seconds(Bench& b, std::int64_t samples) {
  const std::int64_t ranks = b.config.comm.ranks;
  std::vector<double> times;
  for (int i = 0; i < 4; ++i) {
    StepInput input{.passes = {samples_of(b, samples)},
                    .global_samples = samples * ranks};
    b.device->synchronize();
    b.recorder.begin_step(i, 0);
    const double begin = now_s();
    b.strategy->step(input, b.optimizer);
    b.device->synchronize();
    times.push_back(now_s() - begin);
    b.recorder.end_step(samples);
  }
  b.recorder.collect(std::vector<double>(times.size(), 0.0));
  std::sort(times.begin() + 1, times.end());
  return times[2];
}

// Bytes that may be used in all; a GPU says itself when it has no more.
std::int64_t memory_of(const Bench& b, const FindOptions& options) {
  if (options.memory_bytes > 0) return options.memory_bytes;
  if (b.device->torch().is_cuda()) return 0;
  return static_cast<std::int64_t>(
      kTriedMemory *
      static_cast<double>(process_bytes("VmRSS") + available_bytes()));
}

bool plan_fits(const Bench& b, std::int64_t samples, std::int64_t memory) {
  if (memory == 0) return true;
  const std::int64_t in_process =
      b.group.backend() == "threads" ? b.config.comm.ranks : 1;
  return memory_need(plan_work(b.config.model), b.config.optim,
                     b.config.train.precision, samples)
                 .total_bytes() *
             in_process <=
         memory;
}

// The limit is over a process: one of its ranks sets it, for the trial alone.
// Whole steps may start threads, which have no other way out.
bool fits_everywhere(Bench& b, std::int64_t samples, std::int64_t memory) {
  std::optional<MemoryLimit> limit;
  const bool mine = b.group.backend() != "threads" || b.group.rank() == 0;
  if (memory > 0 && mine) limit.emplace(memory);
  agree(b.group, true);
  const bool fits = !any_of(b.group, !fits_here(b, samples));
  limit.reset();
  agree(b.group, true);  // nobody goes on under it
  return fits;
}

// One size on all ranks: the plan, then each rank alone, then whole steps.
TriedBatch try_size(Bench& b, std::int64_t samples, std::int64_t memory,
                    bool timed) {
  TriedBatch out{.per_rank = samples,
                 .global = samples * b.config.comm.ranks,
                 .step_s = std::nan("")};
  if (!plan_fits(b, samples, memory)) {
    out.note = "more memory than there is, by the plan";
    return out;
  }
  b.device->reset_peak_memory();
  out.fits = fits_everywhere(b, samples, memory);
  b.params.zero_grads();
  if (!out.fits) {
    out.note = "out of memory";
    return out;
  }
  if (timed) out.step_s = agree(b.group, step_seconds(b, samples));
  out.peak_memory_bytes = b.device->peak_memory_bytes();
  return out;
}

// Seconds of a step at the recipe's batch, from the nearest size tried.
double recipe_step_s(const Bench& b, const FoundBatch& out) {
  const std::int64_t wanted = global_batch(b.config) / b.config.comm.ranks;
  const TriedBatch* nearest = &out.tried.front();
  for (const TriedBatch& t : out.tried)
    if (t.fits && t.per_rank <= wanted) nearest = &t;
  return nearest->step_s * static_cast<double>(wanted) /
         static_cast<double>(nearest->per_rank);
}

bool averages_whole(StrategyKind kind) {
  return kind == StrategyKind::single || kind == StrategyKind::ddp ||
         kind == StrategyKind::sharded;
}

// The noise scale over the first steps of a training at the recipe's batch.
void measure_noise(Bench& b, FoundBatch& out, double seconds) {
  if (!averages_whole(b.config.strategy.kind)) return;
  RunConfig config = b.config;
  config.batch.mode = BatchMode::fixed;
  config.batch.noise_every = 1;
  config.train.eval_every = 0;
  config.store.checkpoint = false;
  config.train.steps = std::clamp(
      static_cast<std::int64_t>(seconds / (2 * recipe_step_s(b, out))),
      std::int64_t{20}, kMostNoiseSteps);
  DataSplit training{.train = std::move(b.data.train),
                     .validation = nullptr,
                     .description = {}};
  config.train.rehearse = 0;
  const std::atomic<int> never = 0;
  ResidentSets none;
  Session trial{config,
                *b.device,
                b.group,
                b.model,
                b.params,
                b.optimizer,
                *b.strategy,
                b.recorder,
                training,
                none,
                nullptr,
                never,
                first_batch(config)};
  train(trial);
  b.data.train = std::move(training.train);
  out.noise_samples = trial.batch.noise.num_samples();
  out.noise_scale = trial.batch.noise.noise_scale();
}

std::string outcome_of(const TriedBatch& t) {
  if (!t.fits) return t.note;
  return fmt::format("{:.2f} ms a step", t.step_s * 1e3);
}

// Doubles until it does not fit, or there is nothing more to try.
void grow(Bench& b, FoundBatch& out, std::int64_t memory, double seconds) {
  const double begin = now_s();
  const std::int64_t most =
      std::max<std::int64_t>(1, b.data.train->size() / b.config.comm.ranks);
  for (std::int64_t m = 1; out.ended.empty(); m = std::min(2 * m, most)) {
    const TriedBatch t = try_size(b, m, memory, /*timed=*/true);
    out.tried.push_back(t);
    if (b.group.rank() == 0)
      fmt::print(stderr, "batch {} a rank: {}\n", m, outcome_of(t));
    // The next size takes about ten steps of twice the time.
    const bool late = agree(b.group, now_s() - begin + 20 * t.step_s > seconds);
    if (!t.fits)
      out.ended = t.note;
    else if (m == most)
      out.ended = "the data has no more samples";
    else if (late)
      out.ended = "no time for a larger one";
  }
}

// Between one that fits and one that does not, to an eighth.
void refine(Bench& b, FoundBatch& out, std::int64_t memory) {
  std::int64_t low = 0, high = 0;
  for (const TriedBatch& t : out.tried) (t.fits ? low : high) = t.per_rank;
  for (int i = 0; i < 3 && high - low > 1; ++i) {
    const std::int64_t middle = (low + high) / 2;
    out.tried.push_back(try_size(b, middle, memory, /*timed=*/true));
    (out.tried.back().fits ? low : high) = middle;
  }
}

void judge(const Bench& b, FoundBatch& out) {
  std::ranges::sort(out.tried, {}, &TriedBatch::per_rank);
  const bool known = out.noise_samples >= kLeastNoiseSamples;
  const auto base = static_cast<double>(global_batch(b.config));
  const double noise = std::isfinite(out.noise_scale)
                           ? out.noise_scale
                           : 100 * base;  // as an adaptive batch takes it
  double best = 0;
  for (TriedBatch& t : out.tried) {
    if (!t.fits) continue;
    out.largest_per_rank = t.per_rank;
    t.efficiency = t.goodput = std::nan("");
    if (!known) continue;
    const auto batch = static_cast<double>(t.global);
    t.efficiency = statistical_efficiency(noise, base, batch);
    t.goodput = goodput(batch / t.step_s, noise, base, batch);
    if (t.goodput > best) best = t.goodput, out.best_per_rank = t.per_rank;
  }
  for (TriedBatch& t : out.tried) {
    if (!t.fits) continue;
    if (t.per_rank == out.best_per_rank) t.note = "best by goodput";
    if (t.per_rank == out.largest_per_rank)
      t.note += t.note.empty() ? "largest" : ", largest";
  }
}

}  // namespace

FoundBatch find_batch(const RunConfig& config, const FindOptions& options,
                      Group& group) {
  Bench b(config, group);
  FoundBatch out;
  const std::int64_t memory = agree(group, memory_of(b, options));
  grow(b, out, memory, (1 - kNoiseTime) * options.seconds);
  if (!out.tried.front().fits)
    throw Error(Fault::device, b.config.train.device,
                "one sample a rank does not fit: " + out.ended,
                "use a smaller model, or a device with more memory");
  if (!out.tried.back().fits) refine(b, out, memory);
  measure_noise(b, out, kNoiseTime * options.seconds);
  judge(b, out);
  return out;
}

}  // namespace lockstep
