// SPDX-License-Identifier: Apache-2.0
// Settings of the `model` section. No torch: plans and the predictor read them.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

enum class ModelKind {
  linear,
  conv1d,
  variable,
  resnet18,
  resnet18_224,
  resnet34,
  resnet50,
  mobilenet_v2,
  vit_tiny,
  vit_b_16,
  gpt,
  quick
};

struct ModelConfig {
  ModelKind kind = ModelKind::linear;
  std::int64_t classes = 0;
  std::int64_t image_px = 0;
  std::int64_t patch_px = 0;
  std::int64_t vocab = 256;
  std::int64_t context = 256;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t variable_params = 1'000'000;
  std::int64_t variable_flops = 2'000'000;
  bool zero_gamma = false;
  bool whiten = false;
  std::string weights = {};
};

template <class Visitor>
void describe(Visitor& v, ModelConfig& c) {
  v.choice(
      "kind", c.kind,
      {"linear", "conv1d", "variable", "resnet18", "resnet18_224", "resnet34",
       "resnet50", "mobilenet_v2", "vit_tiny", "vit_b_16", "gpt", "quick"},
      "which built-in model; `lockstep summary` lists them");
  v.number("classes", c.classes, {.min = 0, .max = 1'000'000},
           "outputs of the classifier; 0: as many as the data has");
  v.number("image_px", c.image_px, {.min = 0, .max = 4096},
           "side of the square input image; 0: the model's own size");
  v.number("patch_px", c.patch_px, {.min = 0, .max = 256},
           "side of a vit patch; 0: the model's own size");
  v.number("vocab", c.vocab, {.min = 2, .max = 10'000'000},
           "gpt: number of tokens; 256 for text as bytes");
  v.number("context", c.context, {.min = 1, .max = 1 << 20},
           "gpt: tokens the model sees at once");
  v.number("layers", c.layers, {.min = 1, .max = 1000},
           "gpt, variable: blocks");
  v.number("heads", c.heads, {.min = 1, .max = 1000},
           "gpt: attention heads of a block");
  v.number("width", c.width, {.min = 1, .max = 1 << 20},
           "gpt: features of a token, a multiple of heads");
  v.number("variable_params", c.variable_params,
           {.min = 1000, .max = 10'000'000'000},
           "variable: how many parameters the model has");
  v.number("variable_flops", c.variable_flops,
           {.min = 1000, .max = 1'000'000'000'000},
           "variable: floating-point operations of one sample's forward pass");
  v.flag("zero_gamma", c.zero_gamma,
         "start the last BatchNorm of each residual block at zero");
  v.flag("whiten", c.whiten,
         "quick: the first convolution decorrelates patches of the training "
         "images and is not trained");
  v.text("weights", c.weights,
         "safetensors file with the parameters to start from; empty: random");
}

}  // namespace lockstep
