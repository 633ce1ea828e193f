// SPDX-License-Identifier: Apache-2.0
// Twelve steps of a training on the GPU, two batch sizes among them, and all
// that is left of them: what tests of captured steps compare.
#pragma once

#include <torch/utils.h>

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "lockstep/comm/thread_group.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/strategy.h"
#include "lockstep/train/noise_log.h"

namespace lockstep {

inline constexpr int kSteps = 12;

inline RunConfig config_of(ModelKind model, GraphUse graph) {
  RunConfig config;
  config.model.kind = model;
  config.model.classes = 10;
  config.train.device = "cuda";
  config.train.graph = graph;
  config.optim.kind = OptimKind::adam;
  config.optim.lr = 1e-3;
  config.optim.weight_decay = 1e-2;
  config.optim.decay_norm_and_bias = false;
  return config;
}

struct Scene {
  RunConfig config;
  int every = 1;                    // measure.every
  std::function<Model()> own = {};  // instead of the configured model
  Group* ranks = nullptr;           // null: a rank alone
  int noise_every = 0;              // steps between two that measure noise
};

struct Trained {
  std::vector<double> losses;
  at::Tensor values, buffers;
  Json notes;
  std::vector<StepSample> samples;
  std::vector<CommSample> messages;
  std::vector<double> norms;  // squared: of each part, then of the whole
};

// The first n samples, in as many passes as the settings ask for.
inline std::vector<Batch> passes_of(const at::Tensor& x, const at::Tensor& y,
                                    std::int64_t n, std::int64_t passes) {
  std::vector<Batch> out;
  std::int64_t begin = 0;
  for (std::int64_t p = 0; p < passes; ++p) {
    const std::int64_t size = (n + passes - 1 - p) / passes;
    out.push_back({x.narrow(0, begin, size), y.narrow(0, begin, size), size});
    begin += size;
  }
  return out;
}

inline at::Tensor buffers_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> flat = {at::zeros({1})};
  for (const at::Tensor& b : module.buffers())
    flat.push_back(b.flatten().to(at::kCPU, at::kFloat));
  return at::cat(flat);
}

inline void add_norms(const GradNorms& norms, std::vector<double>& to) {
  for (const GradNorms::Part& part : norms.parts())
    to.push_back(part.sq.item<double>());
  to.push_back(norms.whole_sq().item<double>());
}

inline Trained train_rank(const Scene& scene, Group& group) {
  const RunConfig& config = scene.config;
  const auto device = open_device("cuda");
  device->allow_tf32(false);
  torch::manual_seed(3);
  Model model = scene.own ? scene.own() : make_model(config.model);
  model.module->to(device->torch());
  FlatParams params(*model.module);
  Optimizer optimizer(config.optim, params, *device);
  Recorder recorder(0, device->time_source(), {.every = scene.every});
  const auto strategy =
      make_strategy({config, model, params, *device, group, recorder});
  strategy->start();
  const at::Tensor x = at::randn({8, 12000}).to(device->torch());
  const at::Tensor y = at::randint(10, {8}, at::kLong).to(device->torch());
  Trained out;
  std::deque<GradNorms> measured;
  for (int step = 0; step < kSteps; ++step) {
    // Every third batch is short.
    const std::int64_t n = step % 3 == 2 ? 5 : 8;
    recorder.begin_step(step, 0);
    std::vector<Batch> passes = passes_of(x, y, n, config.batch.accumulate);
    const bool measures =
        scene.noise_every > 0 && n == 8 && step % scene.noise_every == 0;
    if (measures) passes = in_halves(std::move(passes));
    const StepOutcome outcome =
        strategy->step({.passes = std::move(passes),
                        .global_samples = n,
                        .lr = config.optim.lr / (1 + step),
                        .step = step,
                        .norms = measures ? &measured.emplace_back() : nullptr},
                       optimizer);
    recorder.end_step(n);
    out.losses.push_back(outcome.loss_sum.item<double>() /
                         static_cast<double>(n));
  }
  for (const GradNorms& norms : measured) add_norms(norms, out.norms);
  out.values = params.values().cpu();
  out.buffers = buffers_of(*model.module);
  out.notes = strategy->notes();
  Recorder::Samples recorded = recorder.collect(out.losses);
  out.samples = std::move(recorded.steps);
  out.messages = std::move(recorded.messages);
  return out;
}

inline Trained train(const Scene& scene) {
  if (scene.ranks) return train_rank(scene, *scene.ranks);
  Trained out;
  run_ranks(1, {}, [&](Group& alone) { out = train_rank(scene, alone); });
  return out;
}

}  // namespace lockstep
