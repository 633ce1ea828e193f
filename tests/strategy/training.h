// SPDX-License-Identifier: Apache-2.0
// What tests of strategies share: small models, fixed samples, and a training
// of so many thread ranks that tells what every rank ended with and sent.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/dropout.h>
#include <torch/utils.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "lockstep/comm/thread_group.h"
#include "lockstep/config/run_config.h"
#include "lockstep/device/device.h"
#include "lockstep/device/memory.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/plan/model_sizes.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep::testing {

// The smallest sizes at which every kind of layer still does something.
inline RunConfig small_config(ModelKind model, StrategyKind strategy,
                              OptimKind optim = OptimKind::sgd) {
  RunConfig config;
  config.model.kind = model;
  config.model.classes = 10;
  if (model == ModelKind::resnet18) config.model.image_px = 16;
  if (model == ModelKind::mobilenet_v2) config.model.image_px = 64;
  if (model == ModelKind::vit_tiny)
    config.model.image_px = 16, config.model.patch_px = 8;
  config.model.vocab = 32, config.model.context = 12;
  config.model.layers = 2, config.model.heads = 2, config.model.width = 16;
  config.model.variable_params = 20'000;
  config.model.variable_flops = 40'000;
  config.strategy.kind = strategy;
  config.strategy.first_bucket_bytes = 4 * 1024;
  config.strategy.bucket_bytes = 24 * 1024;
  config.optim.kind = optim;
  config.optim.lr = 0.02;
  if (optim == OptimKind::sgd) config.optim.momentum = 0.9;
  // Adam divides by the root of tiny squares: without this, differences in
  // the last place of a gradient would become whole steps.
  config.optim.eps = 1e-2;
  return config;
}

inline Batch samples(const ModelConfig& model, std::int64_t count) {
  const auto images = [&] {
    return at::randn({count, 3, model.image_px, model.image_px});
  };
  const at::Tensor classes = at::randint(10, {count}, at::kLong);
  switch (model.kind) {
    case ModelKind::linear:
    case ModelKind::variable:
      return {at::randn({count, kClipSamples}), classes, count};
    case ModelKind::conv1d:
      return {at::randn({count, 1, kClipSamples}), classes, count};
    case ModelKind::gpt:
      return {at::randint(model.vocab, {count, model.context}, at::kLong),
              at::randint(model.vocab, {count, model.context}, at::kLong),
              count};
    default:
      return {images(), classes, count};
  }
}

// Every way to keep several ranks in lockstep. local_sgd averages after each
// step here, so that all of them send in every step.
struct Way {
  const char* name;
  StrategyKind kind;
  Route route = Route::star;
};
inline constexpr Way kWays[] = {
    {"data_parallel_star", StrategyKind::data_parallel, Route::star},
    {"data_parallel_ring", StrategyKind::data_parallel, Route::ring},
    {"ddp", StrategyKind::ddp},
    {"sharded", StrategyKind::sharded},
    {"local_sgd", StrategyKind::local_sgd}};

inline constexpr HookKind kHooks[] = {HookKind::bf16, HookKind::fp16,
                                      HookKind::topk, HookKind::powersgd};

inline RunConfig small_config(ModelKind model, const Way& way,
                              OptimKind optim = OptimKind::sgd) {
  RunConfig config = small_config(model, way.kind, optim);
  config.strategy.collective = way.route;
  config.strategy.local_steps = 1;
  return config;
}

struct Scene {
  RunConfig config;
  int ranks = 1;
  std::int64_t steps = 2, batch = 6;
  std::int64_t last_batch = 0;  // of the last step; 0: as the others
  std::function<void(Model&, int rank)> change_model = {};
  std::function<void(Group&, Strategy&, std::int64_t step)> before_step = {};
  double deadline_s = 30;
};

struct Ended {
  at::Tensor values, buffers;
  std::vector<StepSample> steps;
  std::vector<CommSample> messages;
  CommPlan plan;
};

// Samples [begin, begin + size) of a batch.
inline Batch part(const Batch& batch, std::int64_t begin, std::int64_t size) {
  return {batch.inputs.narrow(0, begin, size),
          batch.targets.narrow(0, begin, size), size};
}

// Rank r's run of a step's samples, cut into passes: as data/shard.h shares
// them out.
inline std::vector<Batch> share(const Batch& all, int ranks, int rank,
                                std::int64_t passes) {
  std::int64_t begin = 0;
  for (int r = 0; r < rank; ++r) begin += share_of(all.samples, ranks, r);
  const std::int64_t mine = share_of(all.samples, ranks, rank);
  std::vector<Batch> out;
  for (std::int64_t p = 0; p < passes; ++p) {
    const std::int64_t size = share_of(mine, passes, p);
    out.push_back(part(all, begin, size));
    begin += size;
  }
  return out;
}

// What a rank is given of a step. Device 0 of data_parallel has it all.
inline std::vector<Batch> passes_of(const Scene& scene, const Batch& all,
                                    int rank) {
  const std::int64_t passes = scene.config.batch.accumulate;
  if (scene.config.strategy.kind != StrategyKind::data_parallel)
    return share(all, scene.ranks, rank, passes);
  return share(rank == 0 ? all : part(all, 0, 0), 1, 0, passes);
}

inline at::Tensor buffers_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& b : module.buffers())
    if (b.scalar_type() == at::kFloat) flat.push_back(b.flatten());
  return flat.empty() ? at::Tensor() : at::cat(flat);
}

// Each rank draws weights of its own: rank 0's are those that count.
inline Model draw_model(const Scene& scene, int rank) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  torch::manual_seed(7 + static_cast<std::uint64_t>(rank));
  Model model = make_model(scene.config.model);
  model.module->train();
  // Threads share torch's generator: masks would not be the same twice.
  for (const auto& m : model.module->modules())
    if (m->as<torch::nn::Dropout>()) m->eval();
  if (scene.change_model) scene.change_model(model, rank);
  return model;
}

inline std::vector<Batch> batches_of(const Scene& scene) {
  torch::manual_seed(3);
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < scene.steps; ++i) {
    const bool last = i + 1 == scene.steps && scene.last_batch > 0;
    out.push_back(
        samples(scene.config.model, last ? scene.last_batch : scene.batch));
  }
  return out;
}

// One rank under way, with all that its strategy works with.
struct Trainee {
  Trainee(const Scene& scene_, Group& group_)
      : scene(scene_), group(group_), model(draw_model(scene, group.rank())) {
    strategy->share_out(optimizer);
  }

  void step(std::int64_t number, const Batch& all) {
    if (scene.before_step) scene.before_step(group, *strategy, number);
    recorder.begin_step(number, 0);
    strategy->step({.passes = passes_of(scene, all, group.rank()),
                    .global_samples = all.samples,
                    .lr = scene.config.optim.lr,
                    .step = number,
                    .last = number + 1 == scene.steps},
                   optimizer);
    recorder.end_step(1);
  }

  const Scene& scene;
  Group& group;
  std::unique_ptr<Device> device = open_device("cpu");
  Model model;
  FlatParams params{*model.module};
  Optimizer optimizer{scene.config.optim, params, *device};
  Recorder recorder{group.rank(), device->time_source(), {}};
  std::unique_ptr<Strategy> strategy =
      make_strategy({scene.config, model, params, *device, group, recorder});
};

inline Ended train_rank(const Scene& scene, const std::vector<Batch>& batches,
                        Group& group) {
  Trainee rank(scene, group);
  rank.strategy->start();
  for (std::size_t i = 0; i < batches.size(); ++i)
    rank.step(static_cast<std::int64_t>(i), batches[i]);
  rank.strategy->sync();
  const auto samples =
      rank.recorder.collect(std::vector<double>(batches.size()));
  return {rank.params.values().clone(), buffers_of(*rank.model.module),
          samples.steps, samples.messages, rank.strategy->plan()};
}

// What every rank ended with. A rank that is left behind keeps what it uses.
inline std::vector<Ended> train(const Scene& scene) {
  keep_freed_memory();
  const auto out = std::make_shared<std::vector<Ended>>(
      static_cast<std::size_t>(scene.ranks));
  run_ranks(scene.ranks, {.deadline_s = scene.deadline_s, .threads = 1},
            [out, scene, batches = batches_of(scene)](Group& group) {
              out->at(static_cast<std::size_t>(group.rank())) =
                  train_rank(scene, batches, group);
            });
  return std::move(*out);
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

inline double relative(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

// Sums of fp32 in another order: some units in the last place of a gradient,
// times a learning rate of 0.02, in each of two or three steps.
inline constexpr double kOrderOfSums = 2e-6;

}  // namespace lockstep::testing
