// SPDX-License-Identifier: Apache-2.0
// Vision transformers with torchvision's names and its way of drawing weights.
// The plan is plan/work_vit.cpp.
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "lockstep/model/families.h"
#include "lockstep/model/token_layers.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

using torch::nn::LayerNorm;
using torch::nn::Linear;
namespace init = torch::nn::init;

LayerNorm vit_norm(std::int64_t width) {
  return LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-6));
}

// Linear's own forward() multiplies and then adds where this is one call.
Product product_of(const Linear& layer, const at::Tensor& x) {
  return lockstep::product_of(x, layer->weight, layer->bias);
}

struct SelfAttention final : torch::nn::Module {
  SelfAttention(std::int64_t width, std::int64_t num_heads)
      : heads(num_heads), out_proj(width, width) {
    in_proj_weight =
        register_parameter("in_proj_weight", torch::empty({3 * width, width}));
    in_proj_bias =
        register_parameter("in_proj_bias", torch::zeros({3 * width}));
    register_module("out_proj", out_proj);
    init::xavier_uniform_(in_proj_weight);
    init::zeros_(out_proj->bias);
  }

  Product forward(const at::Tensor& x) {  // [batch, tokens, width]
    const auto [q, k, v] =
        split_heads(connect(x, in_proj_weight, in_proj_bias), heads);
    const at::Tensor y = at::scaled_dot_product_attention(q, k, v);
    return product_of(out_proj, y.transpose(1, 2).flatten(2));
  }

  std::int64_t heads;
  at::Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;
};

struct EncoderLayer final : torch::nn::Module {
  explicit EncoderLayer(const VitSize& s)
      : ln_1(vit_norm(s.width)),
        self_attention(std::make_shared<SelfAttention>(s.width, s.heads)),
        ln_2(vit_norm(s.width)),
        widen(s.width, s.hidden),
        narrow(s.hidden, s.width) {
    register_module("ln_1", ln_1);
    register_module("self_attention", self_attention);
    register_module("ln_2", ln_2);
    auto mlp = std::make_shared<torch::nn::Module>();
    register_module("mlp", mlp);
    mlp->register_module("0", widen);
    mlp->register_module("3", narrow);
    for (const Linear& layer : {widen, narrow}) {
      init::xavier_uniform_(layer->weight);
      init::normal_(layer->bias, 0, 1e-6);
    }
  }

  void forward(Stream& stream) {
    stream.branch = self_attention->forward(add_norm(stream, ln_1));
    const Product wide = product_of(widen, add_norm(stream, ln_2));
    stream.branch = product_of(narrow, gelu(wide, Gelu::erf));
  }

  LayerNorm ln_1;
  std::shared_ptr<SelfAttention> self_attention;
  LayerNorm ln_2;
  Linear widen, narrow;
};

struct Encoder final : torch::nn::Module {
  Encoder(const VitSize& s, std::int64_t tokens) {
    pos_embedding = register_parameter(
        "pos_embedding", torch::empty({1, tokens, s.width}).normal_(0, 0.02));
    auto list = std::make_shared<torch::nn::Module>();
    register_module("layers", list);
    for (std::int64_t i = 0; i < s.layers; ++i)
      layers.push_back(
          list->register_module("encoder_layer_" + std::to_string(i),
                                std::make_shared<EncoderLayer>(s)));
    ln = register_module("ln", vit_norm(s.width));
  }

  at::Tensor forward(const at::Tensor& x) {
    Stream stream{x + pos_embedding};
    for (const auto& layer : layers) layer->forward(stream);
    return add_norm(stream, ln);
  }

  at::Tensor pos_embedding;
  std::vector<std::shared_ptr<EncoderLayer>> layers;
  LayerNorm ln{nullptr};
};

struct Vit final : torch::nn::Module {
  Vit(const VitSize& s, const ModelConfig& c)
      : conv_proj(torch::nn::Conv2dOptions(3, s.width, c.patch_px)
                      .stride(c.patch_px)) {
    const std::int64_t side = c.image_px / c.patch_px;
    class_token =
        register_parameter("class_token", torch::zeros({1, 1, s.width}));
    register_module("conv_proj", conv_proj);
    encoder = register_module("encoder",
                              std::make_shared<Encoder>(s, side * side + 1));
    auto heads = std::make_shared<torch::nn::Module>();
    register_module("heads", heads);
    head = heads->register_module("head", Linear(s.width, c.classes));
  }

  // [batch, 3, side, side] -> [batch, classes]
  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x = project(images);
    x = at::cat({class_token.expand({x.size(0), -1, -1}), x}, 1);
    x = encoder->forward(x).select(1, 0);
    return takes_half(x, head->weight)
               ? half_linear(x, head->weight, head->bias)
               : head(x);
  }

  // [batch, patches, width]. Patches do not overlap: on a GPU it is a product
  // of a matrix of them, where cuDNN is slow with three channels.
  at::Tensor project(const at::Tensor& images) {
    const at::Tensor& weight = conv_proj->weight;
    if (!takes_half(images, weight) || !weight.is_contiguous())
      return conv_proj(images).flatten(2).transpose(1, 2);
    const std::int64_t side = weight.size(2);
    const at::Tensor patches =
        images.unflatten(3, {-1, side})
            .unflatten(2, {-1, side})
            .permute({0, 2, 4, 1, 3, 5})
            .to(at::kBFloat16, /*non_blocking=*/false,
                /*copy=*/true, at::MemoryFormat::Contiguous);
    return half_linear(patches.flatten(3).flatten(1, 2), weight,
                       conv_proj->bias);
  }

  at::Tensor class_token;
  torch::nn::Conv2d conv_proj;
  std::shared_ptr<Encoder> encoder;
  Linear head{nullptr};
};

// Normal values of this deviation, none beyond -2 or 2.
void trunc_normal_(const at::Tensor& weight, double deviation) {
  const torch::NoGradGuard no_grad;
  const double bound = std::erf(2 / deviation / std::sqrt(2.0));
  weight.uniform_(-bound, bound).erfinv_().mul_(deviation * std::sqrt(2.0));
  weight.clamp_(-2, 2);
}

}  // namespace

Model make_vit(const ModelConfig& config) {
  auto net = std::make_shared<Vit>(vit_size(config.kind), config);
  const double fan_in = 3.0 * static_cast<double>(config.patch_px) *
                        static_cast<double>(config.patch_px);
  trunc_normal_(net->conv_proj->weight, std::sqrt(1 / fan_in));
  init::zeros_(net->conv_proj->bias);
  init::zeros_(net->head->weight);
  init::zeros_(net->head->bias);
  return as_model(net);
}

}  // namespace lockstep
