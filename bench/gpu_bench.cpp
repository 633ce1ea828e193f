// SPDX-License-Identifier: Apache-2.0
// Our side of bench/gpu.py: one model, one batch that lies on the GPU, steps as
// the trainer runs them. Prints one line of JSON: milliseconds a step of each
// round, and the first losses, which tell whether two ways compute the same.
#include <torch/types.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lockstep/comm/thread_group.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"
#include "lockstep/core/version.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/strategy.h"
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

struct Case {
  std::string model;
  std::int64_t batch;
  std::string precision, graph;
  int steps, rounds;
  bool wait = false;  // time only after a line on standard input
};

// Says that everything is compiled and warm, and lets the caller say when the
// machine is quiet.
void wait_for_turn() {
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
}

ModelConfig transformer_of(const std::string& name) {
  if (name == "vit_b_16") return {.kind = ModelKind::vit_b_16, .classes = 1000};
  return {.kind = ModelKind::gpt,
          .vocab = 50257,
          .context = 1024,
          .layers = 12,
          .heads = 12,
          .width = 768};
}

// The settings bench/gpu.py gives PyTorch too.
RunConfig config_of(const Case& c) {
  RunConfig config;
  config.model.classes = 10;
  config.train.device = "cuda";
  config.train.precision = c.precision == "bf16"   ? Precision::bf16
                           : c.precision == "tf32" ? Precision::tf32
                                                   : Precision::fp32;
  config.train.graph = c.graph == "off" ? GraphUse::off : GraphUse::on;
  config.optim.kind = OptimKind::adam;
  config.optim.lr = 1e-3;
  if (c.model == "linear") config.model.kind = ModelKind::linear;
  if (c.model == "conv1d") config.model.kind = ModelKind::conv1d;
  if (c.model == "linear" || c.model == "conv1d") return config;
  if (c.model == "gpt" || c.model == "vit_b_16") {
    config.optim = {.kind = OptimKind::adamw, .lr = 3e-4, .weight_decay = 0.1};
    config.model = transformer_of(c.model);
    return config;
  }
  config.model.kind = c.model == "resnet18"   ? ModelKind::resnet18
                      : c.model == "resnet50" ? ModelKind::resnet50
                                              : ModelKind::mobilenet_v2;
  if (c.model == "resnet50") config.model.classes = 1000;
  config.train.channels_last = true;
  config.optim = {.kind = OptimKind::sgd,
                  .lr = 0.01,
                  .momentum = 0.9,
                  .weight_decay = 5e-4};
  return config;
}

Batch tokens_of(const ModelConfig& model, std::int64_t samples,
                c10::Device device) {
  const auto draw = [&] {
    return torch::randint(model.vocab, {samples, model.context}, at::kLong)
        .to(device);
  };
  const at::Tensor inputs = draw(), targets = draw();
  return {inputs, targets, samples, /*in_place=*/true};
}

Batch batch_of(const RunConfig& config, std::int64_t samples,
               c10::Device device) {
  torch::manual_seed(7);
  if (config.model.kind == ModelKind::gpt)
    return tokens_of(config.model, samples, device);
  const bool waves = config.model.kind == ModelKind::linear ||
                     config.model.kind == ModelKind::conv1d;
  const std::int64_t side = config.model.kind == ModelKind::resnet18 ? 32 : 224;
  at::Tensor inputs = waves ? torch::randn({samples, 12000})
                            : torch::randn({samples, 3, side, side});
  if (config.train.channels_last)
    inputs = inputs.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor targets =
      torch::randint(config.model.classes, {samples}, at::kLong);
  return {inputs.to(device), targets.to(device), samples, /*in_place=*/true};
}

Json measure(const Case& c, Group& group) {
  const RunConfig config = config_of(c);
  const std::unique_ptr<Device> device = prepare_device(config, group);
  Model model = prepare_model(config, *device);
  FlatParams params(*model.module);
  Optimizer optimizer(config.optim, params, *device);
  Recorder recorder(0, device->time_source(), {.record = false});
  const auto strategy =
      make_strategy({config, model, params, *device, group, recorder});
  const StepInput input{.passes = {batch_of(config, c.batch, device->torch())},
                        .global_samples = c.batch,
                        .lr = config.optim.lr};
  Json losses = Json::array(), step_ms = Json::array();
  for (int i = 0; i < 12; ++i) {
    const at::Tensor sum = strategy->step(input, optimizer).loss_sum;
    losses.push_back(sum.item<double>() / static_cast<double>(c.batch));
  }
  if (c.wait) wait_for_turn();
  for (int round = 0; round < c.rounds; ++round) {
    for (int i = 0; i < 5; ++i) strategy->step(input, optimizer);
    device->synchronize();
    const double begin_s = now_s();
    for (int i = 0; i < c.steps; ++i) strategy->step(input, optimizer);
    device->synchronize();
    step_ms.push_back((now_s() - begin_s) / c.steps * 1e3);
  }
  return {{"model", c.model},
          {"batch", c.batch},
          {"precision", c.precision},
          {"parameters", params.values().numel()},
          {"step_ms", step_ms},
          {"losses", losses},
          {"peak_mib", device->peak_memory_bytes() >> 20},
          {"steps", strategy->notes()},
          {"device", device->info()},
          {"lockstep", version_text()}};
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc != 7 && argc != 8) {
    std::fprintf(stderr,
                 "usage: gpu_bench MODEL BATCH fp32|tf32|bf16 on|off STEPS "
                 "ROUNDS [wait]\n");
    return 2;
  }
  try {
    const Case c{argv[1],  std::atoll(argv[2]), argv[3],
                 argv[4],  std::atoi(argv[5]),  std::atoi(argv[6]),
                 argc == 8};
    run_ranks(1, {}, [&](Group& group) {
      std::printf("%s\n", measure(c, group).dump().c_str());
    });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 1;
  }
}
