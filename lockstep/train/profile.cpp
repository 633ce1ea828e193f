// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/profile.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "lockstep/comm/thread_group.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/error.h"
#include "lockstep/core/median.h"
#include "lockstep/core/version.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/train/layer_clock.h"
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

constexpr std::int64_t kWarmUp = 4;
constexpr std::int64_t kLeastSteps = 5;
// How long the loader is watched.
constexpr double kLoading_s = 1;

double jitter_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean) / n;
  return std::sqrt(squares) / mean;
}

RunConfig on_one_rank(RunConfig config) {
  config.strategy.kind = StrategyKind::single;
  config.comm.ranks = 1;
  return config;
}

std::vector<std::int64_t> sizes_of(const RunConfig& recipe,
                                   const ProfileOptions& options) {
  std::vector<std::int64_t> out = options.batches;
  if (out.empty()) {
    const std::int64_t all =
        recipe.batch.per_rank > 0
            ? recipe.batch.per_rank
            : std::max<std::int64_t>(1,
                                     recipe.batch.global / recipe.comm.ranks);
    const std::int64_t most = std::max<std::int64_t>(all, 4);
    out = {most / 4, most / 2, most};
  }
  std::ranges::sort(out);
  const auto again = std::ranges::unique(out);
  out.erase(again.begin(), again.end());
  if (out.size() < 2)
    throw Error(Fault::config, "--batches", "needs two or more sizes",
                "times are interpolated between them");
  if (options.steps < kLeastSteps)
    throw Error(Fault::config, "--steps",
                std::to_string(options.steps) + " are too few for a median",
                "5 or more");
  return out;
}

// The others of this machine, if there are any.
struct Beside {
  int ranks = 1;
  bool first = true;
  std::function<void()> meet = [] {};  // all begin what follows together
};

// Everything that is measured, kept together.
struct Stand {
  const RunConfig& config;
  Device& device;
  const DataSplit& data;
  Model& model;
  FlatParams& params;
  Optimizer& optimizer;
  Recorder& recorder;
  Strategy& strategy;
  const Beside& beside;
};

std::vector<std::int64_t> first_samples(const Dataset& set, std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = i % set.size();
  return out;
}

LoaderOptions loading(const RunConfig& config, std::int64_t batch) {
  return {.batch = batch,
          .workers = config.data.workers,
          .seed = {static_cast<std::uint64_t>(config.train.seed)}};
}

Batch stand_batch(const Stand& s, std::int64_t samples) {
  Loader loader(*s.data.train, first_samples(*s.data.train, samples),
                loading(s.config, samples));
  return to_device(*loader.next(), s.device.torch(), s.config.train);
}

// Samples a second that the host delivers; 0 where the set is on the device.
double loading_rate(const Stand& s, std::int64_t batch) {
  if (s.config.data.resident) return 0;
  Loader loader(*s.data.train,
                first_samples(*s.data.train, s.data.train->size()),
                loading(s.config, batch));
  std::int64_t samples = 0;
  const double begin = now_s();
  double end = begin;
  while (end - begin < kLoading_s) {
    const std::optional<Batch> next = loader.next();
    end = now_s();
    if (!next) break;
    samples += next->samples;
  }
  return static_cast<double>(samples) / (end - begin);
}

// Whole steps, as training runs them. Nothing is learnt: the rate is zero.
std::vector<StepSample> whole_steps(Stand& s, const Batch& batch,
                                    std::int64_t steps) {
  for (std::int64_t i = 0; i < kWarmUp + steps; ++i) {
    s.beside.meet();
    s.recorder.begin_step(i, 0);
    s.strategy.step(
        {.passes = {batch}, .global_samples = batch.samples, .lr = 0},
        s.optimizer);
    s.recorder.end_step(batch.samples);
  }
  s.device.synchronize();
  const std::vector<double> losses(static_cast<std::size_t>(kWarmUp + steps));
  std::vector<StepSample> out = s.recorder.collect(losses).steps;
  out.erase(out.begin(), out.begin() + kWarmUp);
  return out;
}

std::vector<double> column(const std::vector<StepSample>& steps,
                           double StepSample::*field) {
  std::vector<double> out;
  for (const StepSample& step : steps) out.push_back(step.*field);
  return out;
}

// The layers with parameters; rows of the plan without any join the one before.
struct Layers {
  std::vector<ProfileLayer> list;
  std::vector<std::size_t> of_row;  // of the plan
};

Layers layers_of(const WorkPlan& plan, Precision precision) {
  const double element_bytes = precision == Precision::bf16 ? 2 : 4;
  Layers out;
  for (const LayerWork& row : plan.layers) {
    if (out.list.empty() || row.params > 0) out.list.emplace_back();
    ProfileLayer& layer = out.list.back();
    if (layer.name.empty()) layer.name = row.name, layer.type = row.type;
    layer.activation_bytes +=
        element_bytes * static_cast<double>(row.kept_numel) +
        8.0 * static_cast<double>(row.kept_indices);
    layer.output_bytes = element_bytes * static_cast<double>(row.output_numel);
    out.of_row.push_back(out.list.size() - 1);
  }
  return out;
}

std::vector<std::size_t> layer_of_params(const Stand& s, const WorkPlan& plan,
                                         const Layers& layers) {
  std::vector<std::size_t> out;
  for (const Slice& slice : s.params.slices()) {
    const auto info =
        std::ranges::find(plan.params, slice.name, &ParamInfo::name);
    check(info != plan.params.end(), "the plan knows every parameter");
    out.push_back(layers.of_row[info->layer]);
  }
  return out;
}

void time_layers(Stand& s, const Batch& batch, std::int64_t passes,
                 const std::vector<std::size_t>& layer_of, Profile& out) {
  const LayerClock clock(s.params.params(), layer_of, out.layers.size(),
                         s.device.time_source());
  std::vector<LayerTimes> taken;
  for (std::int64_t i = 0; i < 1 + passes; ++i) {
    s.beside.meet();
    taken.push_back(clock.pass(
        [&] { return forward(s.model, batch.inputs, s.config.train); },
        [&](const at::Tensor& logits) {
          return loss_of(logits, batch.targets, s.config.train.label_smoothing);
        }));
    s.optimizer.step(0);
  }
  taken.erase(taken.begin());
  for (std::size_t l = 0; l < out.layers.size(); ++l) {
    std::vector<double> there, back;
    for (const LayerTimes& t : taken)
      there.push_back(t.forward_s[l]), back.push_back(t.backward_s[l]);
    out.layers[l].forward_s.push_back(median(there));
    out.layers[l].backward_s.push_back(median(back));
  }
  std::vector<double> there, back;
  for (const LayerTimes& t : taken)
    there.push_back(t.loss_forward_s), back.push_back(t.loss_backward_s);
  if (!out.loss) out.loss.emplace();
  out.loss->forward_s.push_back(median(there));
  out.loss->backward_s.push_back(median(back));
  out.gradient_order = taken.back().gradient_order;
}

// The update of the first rank while the others wait for it.
double update_alone_s(Stand& s, std::int64_t steps) {
  std::vector<double> times = {0};
  s.beside.meet();
  for (std::int64_t i = 0; s.beside.first && i < 1 + steps; ++i) {
    const double begin = now_s();
    s.optimizer.step(0);
    s.device.synchronize();
    if (i == 0) times.clear();
    times.push_back(now_s() - begin);
  }
  s.beside.meet();
  return median(times);
}

double total_bytes(const std::vector<at::Tensor>& tensors) {
  double out = 0;
  for (const at::Tensor& t : tensors) out += static_cast<double>(t.nbytes());
  return out;
}

// What does not depend on the batch.
Profile describe(Stand& s, const WorkPlan& plan) {
  Profile p;
  p.model = plan.model;
  p.device = s.device.info().value("name", s.config.train.device);
  p.software = "lockstep " + version_text() + ", LibTorch " + TORCH_VERSION;
  p.precision = s.config.train.precision;
  const ParamList list = param_list(s.params, *s.model.module);
  for (std::size_t i = 0; i < list.rows.size(); ++i) {
    const Slice& slice = s.params.slices()[i];
    p.params.push_back(
        {.name = slice.name, .numel = slice.numel, .rows = list.rows[i]});
  }
  p.buffer_bytes = total_bytes(s.model.module->buffers());
  for (const auto& [name, tensor] : s.optimizer.state())
    p.optimizer_bytes += static_cast<double>(tensor.nbytes());
  p.output_bytes = 4.0 * static_cast<double>(plan.layers.back().output_numel);
  return p;
}

// One batch size, added to the profile.
void measure_at(Stand& s, std::int64_t size, std::int64_t steps,
                const std::vector<std::size_t>& layer_of, Profile& p) {
  const Batch batch = stand_batch(s, size);
  s.device.reset_peak_memory();
  const std::vector<StepSample> whole = whole_steps(s, batch, steps);
  p.batches.push_back(size);
  p.memory_bytes.push_back(static_cast<double>(s.device.peak_memory_bytes()));
  p.step_s.push_back(median(column(whole, &StepSample::step_s)));
  p.optimizer_s = median(column(whole, &StepSample::optim_s));
  p.jitter = jitter_of(column(whole, &StepSample::step_s));
  p.input_bytes =
      static_cast<double>(batch.inputs.nbytes()) / static_cast<double>(size);
  time_layers(s, batch, std::max<std::int64_t>(3, steps / 3), layer_of, p);
}

Profile measure(const RunConfig& recipe, const ProfileOptions& options,
                Group& group, const Beside& beside) {
  const std::vector<std::int64_t> sizes = sizes_of(recipe, options);
  const RunConfig asked = on_one_rank(recipe);
  const std::unique_ptr<Device> device = prepare_device(asked, group);
  const DataSplit data = open_data(asked.data, asked.model);
  const RunConfig config = complete(asked, data);
  Model model = prepare_model(config, *device);
  FlatParams params(*model.module);
  Optimizer optimizer(config.optim, params, *device);
  Recorder recorder(0, device->time_source(), {});
  const std::unique_ptr<Strategy> strategy =
      make_strategy({config, model, params, *device, group, recorder});
  Stand stand{config,    *device,  data,      model, params,
              optimizer, recorder, *strategy, beside};

  const WorkPlan plan = plan_work(config.model);
  Profile p = describe(stand, plan);
  const Layers layers = layers_of(plan, p.precision);
  p.layers = layers.list;
  const std::vector<std::size_t> layer_of =
      layer_of_params(stand, plan, layers);
  for (std::size_t i = 0; i < p.params.size(); ++i)
    p.params[i].layer = layer_of[i];
  for (const std::int64_t size : sizes)
    measure_at(stand, size, options.steps, layer_of, p);
  if (beside.ranks > 1)
    p.optimizer_alone_s =
        std::min(p.optimizer_s, update_alone_s(stand, options.steps));
  p.input_samples_per_s = loading_rate(stand, sizes.back());
  validate(p, "the profile");
  return p;
}

}  // namespace

Profile measure_profile(const RunConfig& recipe, const ProfileOptions& options,
                        Group& group) {
  return measure(recipe, options, group, {});
}

Profile measure_profile_beside(RunConfig recipe, const ProfileOptions& options,
                               int ranks) {
  // Each is alone in a group of its own, which would give it every core.
  if (recipe.train.threads == 0 && recipe.train.device == "cpu")
    recipe.train.threads = std::max(1, core_count() / ranks);
  std::vector<Profile> out(static_cast<std::size_t>(ranks));
  const RankOptions threads{.deadline_s = recipe.comm.deadline_s,
                            .threads = static_cast<int>(recipe.train.threads)};
  run_ranks(ranks, threads, [&](Group& group) {
    Profile& mine = out[static_cast<std::size_t>(group.rank())];
    const Beside beside{
        .ranks = ranks, .first = group.rank() == 0, .meet = [&group] {
          group.run({.op = Collective::barrier});
        }};
    run_ranks(1, threads, [&](Group& alone) {
      mine = measure(recipe, options, alone, beside);
    });
  });
  return out.front();
}

}  // namespace lockstep
