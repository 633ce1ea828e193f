// SPDX-License-Identifier: Apache-2.0
// Our modules against PyTorch's, torchvision's and Hugging Face's: same names,
// same drawn weights, same outputs and gradients. tools/golden_models.py made
// golden/models.json and states the formula of weights and inputs.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/init.h>

#include <cmath>

#include "lockstep/config/run_config.h"
#include "lockstep/model/model.h"

namespace lockstep {
namespace {

const Json& golden_models() {
  static const Json json =
      read_json(LOCKSTEP_SOURCE_DIR "/tests/model/golden/models.json",
                Fault::data)["models"];
  return json;
}

ModelConfig config_of(const Json& golden) {
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  for (const auto& [name, value] : golden["settings"].items()) {
    const Field& field = find_field(fields, "model." + name);
    if (value.is_string())
      field.set(value.get<std::string>());
    else
      field.set(value.get<std::int64_t>());
  }
  return config.model;
}

at::Tensor u(at::IntArrayRef shape, std::int64_t k) {
  const at::Tensor i = torch::arange(c10::multiply_integers(shape), at::kLong);
  return (((i * 1103515245 + k * 12345).remainder(std::int64_t{1} << 31))
                  .to(at::kDouble) /
              static_cast<double>(1 << 30) -
          1)
      .to(at::kFloat)
      .view(shape);
}

void fill(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  std::int64_t k = 0;
  for (const auto& item : module.named_parameters()) {
    at::Tensor p = item.value();
    const at::Tensor value = u(p.sizes(), k++);
    if (p.dim() >= 2) {
      const std::int64_t fan_in = p.numel() / p.size(0);
      p.copy_(value * std::sqrt(6 / static_cast<double>(fan_in)));
    } else if (item.key().ends_with("weight")) {
      p.copy_(1 + 0.2 * value);
    } else {
      p.copy_(0.1 * value);
    }
  }
}

struct Samples {
  at::Tensor inputs, targets;
};

Samples samples_of(const Json& golden) {
  const auto shape = golden["input"].get<std::vector<std::int64_t>>();
  const Json& settings = golden["settings"];
  if (settings["kind"] != "gpt")
    return {u(shape, 1000),
            (3 * torch::arange(shape[0], at::kLong) + 1)
                .remainder(settings["classes"].get<std::int64_t>())};
  const std::int64_t count = c10::multiply_integers(shape);
  const at::Tensor tokens =
      (torch::arange(count + 1, at::kLong) * 7919 + 13)
          .remainder(settings["vocab"].get<std::int64_t>());
  return {tokens.narrow(0, 0, count).view(shape),
          tokens.narrow(0, 1, count).view(shape)};
}

double norm_of(const at::Tensor& t) {
  return t.detach().to(at::kDouble).norm().item<double>();
}

class Golden : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { at::set_num_threads(1); }

  void expect_buffers(const torch::nn::Module& module) const {
    std::vector<std::string> ours, theirs;
    for (const auto& item : module.named_buffers()) ours.push_back(item.key());
    for (const auto& [name, norm] : golden["buffers"].items())
      theirs.push_back(name);
    EXPECT_EQ(ours, theirs);
  }

  void expect_drawn(const torch::nn::Module& module) const {
    std::size_t k = 0;
    for (const auto& item : module.named_parameters()) {
      const Json& drawn = golden["drawn_with_seed_3"][k++];
      const double norm = drawn[0].get<double>();
      EXPECT_NEAR(norm_of(item.value()), norm, 1e-6 * norm) << item.key();
      EXPECT_FLOAT_EQ(item.value().flatten()[0].item<float>(),
                      drawn[1].get<float>())
          << item.key();
    }
  }

  const Json& golden = golden_models()[GetParam()];
  ModelConfig config = config_of(golden);
};

TEST_P(Golden, NamesShapesAndDrawnWeightsAreTheOriginals) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> shapes;
  torch::manual_seed(3);
  const Model model = make_model(config);
  for (const auto& item : model.module->named_parameters()) {
    names.push_back(item.key());
    shapes.push_back(item.value().sizes().vec());
  }
  EXPECT_EQ(Json(names), golden["names"]);
  EXPECT_EQ(Json(shapes), golden["shapes"]);
  expect_buffers(*model.module);
  // Not known where the original is not torchvision's or draws otherwise.
  if (!golden["drawn_with_seed_3"].is_null()) expect_drawn(*model.module);
}

TEST_P(Golden, LogitsLossGradientsAndBuffersAreTheOriginals) {
  const Model model = make_model(config);
  model.module->train(golden["train"].get<bool>());
  fill(*model.module);
  const auto [inputs, targets] = samples_of(golden);
  const at::Tensor logits = model.forward(inputs);
  const auto expected = golden["logits"].get<std::vector<float>>();
  const at::Tensor theirs = torch::tensor(expected);
  const at::Tensor ours = logits.detach().flatten().narrow(
      0, 0, static_cast<std::int64_t>(expected.size()));
  const double scale = theirs.abs().max().item<double>();
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-4 * scale);

  const at::Tensor loss = loss_of(logits, targets, /*label_smoothing=*/0.1);
  const double their_loss = golden["loss_smoothing_0.1"].get<double>();
  EXPECT_NEAR(loss.item<double>(), their_loss, 1e-4 * their_loss);
  loss.backward();
  std::size_t k = 0;
  for (const auto& item : model.module->named_parameters()) {
    const double norm = golden["grad_norms"][k++].get<double>();
    EXPECT_NEAR(norm_of(item.value().grad()), norm, 1e-3 * norm + 1e-7)
        << item.key();
  }
  for (const auto& item : model.module->named_buffers()) {
    const double norm = golden["buffers"][item.key()].get<double>();
    EXPECT_NEAR(norm_of(item.value()), norm, 1e-4 * norm) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Golden, testing::Range<std::size_t>(0, golden_models().size()),
    [](const auto& each) {
      return golden_models()[each.param]["settings"]["kind"]
          .template get<std::string>();
    });

TEST(Model, ZeroGammaStartsEachResidualBlockAsTheIdentity) {
  for (const ModelKind kind : {ModelKind::resnet18, ModelKind::mobilenet_v2}) {
    const Model model =
        make_model({.kind = kind, .classes = 10, .zero_gamma = true});
    std::int64_t zero = 0, one = 0;
    for (const auto& item : model.module->named_parameters()) {
      if (item.value().dim() != 1 || !item.key().ends_with("weight")) continue;
      (item.value().abs().sum().item<double>() == 0 ? zero : one) += 1;
    }
    // ResNet-18 has 8 blocks, 20 norms; MobileNetV2 10 that add, of 52 norms.
    EXPECT_EQ(zero, kind == ModelKind::resnet18 ? 8 : 10);
    EXPECT_EQ(one, kind == ModelKind::resnet18 ? 12 : 42);
  }
}

TEST(Model, GptDrawsWeightsAsGpt2Does) {
  torch::manual_seed(1);
  const Model model = make_model({.kind = ModelKind::gpt, .width = 256});
  const auto params = model.module->named_parameters();
  const auto deviation = [&](const char* name) {
    return params[name].std().item<double>();
  };
  EXPECT_NEAR(deviation("transformer.wte.weight"), 0.02, 4e-4);
  EXPECT_NEAR(deviation("transformer.h.0.attn.c_attn.weight"), 0.02, 4e-4);
  // Two branches a block, four blocks.
  EXPECT_NEAR(deviation("transformer.h.3.mlp.c_proj.weight"),
              0.02 / std::sqrt(8.0), 4e-4);
  EXPECT_EQ(params["transformer.h.0.mlp.c_fc.bias"].abs().max().item<float>(),
            0);
}

TEST(Model, GptReadsFewerTokensThanItsContextAndNeverLooksAhead) {
  const Model model = make_model({.kind = ModelKind::gpt});
  const at::Tensor tokens = torch::arange(20, at::kLong).view({1, 20});
  const at::Tensor all = model.forward(tokens);
  const at::Tensor some = model.forward(tokens.narrow(1, 0, 12));
  EXPECT_EQ(all.sizes(), (std::vector<std::int64_t>{1, 20, 256}));
  EXPECT_TRUE(at::allclose(all.narrow(1, 0, 12), some, 1e-4, 1e-5));
}

TEST(Loss, OfEqualLogitsIsTheLogarithmOfTheClasses) {
  const at::Tensor targets = torch::tensor({0, 3}, at::kLong);
  for (const double smoothing : {0.0, 0.1})
    EXPECT_NEAR(
        loss_of(torch::zeros({2, 5}), targets, smoothing).item<double>(),
        std::log(5.0), 1e-6);
}

}  // namespace
}  // namespace lockstep
