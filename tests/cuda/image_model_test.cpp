// SPDX-License-Identifier: Apache-2.0
// Whole image models in bf16 through our kernels. Reference: fp64 on the CPU.
// How far bf16 may be from it is not guessed: LibTorch's own bf16 says.
#include <gtest/gtest.h>
#include <torch/nn/modules/dropout.h>
#include <torch/types.h>

#include <cmath>
#include <optional>

#include "lockstep/comm/thread_group.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/pass.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using ImageModelsOnGpu = GpuTest;

using Grads = std::vector<at::Tensor>;

Model seeded_image_model(const ModelConfig& config) {
  torch::manual_seed(5);
  Model model = make_model(config);
  const at::NoGradGuard no_grad;
  for (const at::Tensor& p : model.module->parameters())
    p.copy_(p.to(at::kBFloat16).to(at::kFloat));
  model.module->train();
  // What dropout leaves out is another choice on each device.
  for (const auto& part : model.module->modules())
    if (auto* dropout = part->as<torch::nn::DropoutImpl>())
      dropout->options.p(0);
  return model;
}

Grads grads_of(const Model& model) {
  Grads out;
  for (const at::Tensor& p : model.module->parameters())
    out.push_back(p.grad().detach().cpu());
  return out;
}

// LibTorch's operations, in fp64 or under bf16's autocast.
Grads plain(const ModelConfig& config, const at::Tensor& x, const at::Tensor& y,
            bool bf16) {
  const Model model = seeded_image_model(config);
  const auto place = bf16 ? at::TensorOptions(at::kCUDA).dtype(at::kFloat)
                          : at::TensorOptions(at::kCPU).dtype(at::kDouble);
  // With a type, it would turn BatchNorm's counter into a fraction too.
  model.module->to(place.device());
  if (!bf16) model.module->to(at::kDouble);
  at::Tensor logits;
  {
    const std::optional<Autocast> cast =
        bf16 ? std::optional<Autocast>(std::in_place) : std::nullopt;
    logits = model.forward(x.to(place));
  }
  const at::Tensor targets = y.to(place.device());
  loss_of(bf16 ? logits.to(at::kFloat) : logits, targets, 0).backward();
  return grads_of(model);
}

// As strategies run it.
Grads our_grads(const ModelConfig& config, const at::Tensor& x,
                const at::Tensor& y) {
  Grads out;
  run_ranks(1, {}, [&](Group& group) {
    RunConfig run;
    run.model = config;
    run.train.precision = Precision::bf16;
    run.train.channels_last = true;
    const auto device = open_device("cuda");
    Model model = seeded_image_model(config);
    model.module->to(device->torch());
    for (at::Tensor& p : model.module->parameters())
      if (p.dim() == 4)
        p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
    FlatParams params(*model.module);
    params.cast_to_half();
    Recorder recorder(0, device->time_source(), {.record = false});
    StepOutcome outcome;
    const PassRoot root =
        forward_pass({run, model, params, *device, group, recorder},
                     to_device({x, y, x.size(0)}, device->torch(), run.train),
                     x.size(0), outcome);
    root.backward();
    params.settle_grads();
    out = grads_of(model);
  });
  return out;
}

// How many gradients bf16 says nothing of: those that are lost in its rounding,
// such as that of a bias before another normalisation.
std::size_t compare_grads(const ModelConfig& config, at::IntArrayRef sizes,
                          double most) {
  const at::Tensor x = random(sizes);
  const at::Tensor y = at::randint(10, {sizes[0]}, at::kLong);
  const Grads exact = plain(config, x, y, false);
  const Grads bf16 = plain(config, x, y, true);
  const Grads got = our_grads(config, x, y);
  const auto names = seeded_image_model(config).module->named_parameters();
  std::size_t lost = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = distance(bf16[i], exact[i]);
    if (!(expected < most)) {
      ++lost;
      if (exact[i].norm().item<double>() == 0) {
        EXPECT_LT(got[i].norm().item<double>(), 1e-6) << names[i].key();
      }
      continue;
    }
    EXPECT_LT(distance(got[i], exact[i]), 1.5 * expected + 0.01)
        << names[i].key();
  }
  return lost;
}

// Whatever LibTorch's bf16 makes of it is to be matched. A scale of zero hides
// the two convolutions and the norm before it in each of eight blocks.
TEST_F(ImageModelsOnGpu, AreAsNearToFp64AsLibTorchsBf16) {
  const double any = INFINITY;
  EXPECT_EQ(compare_grads({.kind = ModelKind::resnet18, .classes = 10},
                          {16, 3, 32, 32}, any),
            0u);
  EXPECT_EQ(
      compare_grads(
          {.kind = ModelKind::resnet18, .classes = 10, .zero_gamma = true},
          {16, 3, 32, 32}, any),
      8u * 4);
  compare_grads({.kind = ModelKind::mobilenet_v2, .classes = 10},
                {8, 3, 96, 96}, 0.5);
  for (const bool whiten : {false, true})
    EXPECT_EQ(compare_grads(
                  {.kind = ModelKind::quick, .classes = 10, .whiten = whiten},
                  {64, 3, 32, 32}, any),
              0u);
}

}  // namespace
}  // namespace lockstep
