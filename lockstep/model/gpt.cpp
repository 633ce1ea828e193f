// SPDX-License-Identifier: Apache-2.0
// GPT-2 with Hugging Face's names and layout of weights, the head tied to the
// token embedding, no dropout. The plan is plan/work_gpt.cpp.
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "lockstep/kernels/embedding.h"
#include "lockstep/model/families.h"
#include "lockstep/model/token_layers.h"

namespace lockstep {
namespace {

using torch::nn::LayerNorm;

constexpr double kDeviation = 0.02;

LayerNorm gpt_norm(std::int64_t width) {
  return LayerNorm(torch::nn::LayerNormOptions({width}));
}

// Hugging Face's Conv1D: a fully connected layer with its weight as [in, out].
struct Project final : torch::nn::Module {
  Project(std::int64_t in, std::int64_t out, double deviation) {
    weight = register_parameter("weight",
                                torch::empty({in, out}).normal_(0, deviation));
    bias = register_parameter("bias", torch::zeros({out}));
  }
  at::Tensor forward(const at::Tensor& x) {
    return connect(x, weight, bias, WeightOrder::in_out);
  }
  Product product_of(const at::Tensor& x) {
    return lockstep::product_of(x, weight, bias, WeightOrder::in_out);
  }
  at::Tensor weight, bias;
};

struct Attention final : torch::nn::Module {
  Attention(const ModelConfig& c, double out_deviation)
      : heads(c.heads),
        c_attn(std::make_shared<Project>(c.width, 3 * c.width, kDeviation)),
        c_proj(std::make_shared<Project>(c.width, c.width, out_deviation)) {
    register_module("c_attn", c_attn);
    register_module("c_proj", c_proj);
  }

  Product forward(const at::Tensor& x) {  // [batch, tokens, width]
    const auto [q, k, v] = split_heads(c_attn->forward(x), heads);
    const at::Tensor y = at::scaled_dot_product_attention(
        q, k, v, {}, /*dropout_p=*/0, /*is_causal=*/true);
    return c_proj->product_of(y.transpose(1, 2).flatten(2));
  }

  std::int64_t heads;
  std::shared_ptr<Project> c_attn, c_proj;
};

struct GptBlock final : torch::nn::Module {
  GptBlock(const ModelConfig& c, double out_deviation)
      : ln_1(gpt_norm(c.width)),
        attn(std::make_shared<Attention>(c, out_deviation)),
        ln_2(gpt_norm(c.width)),
        c_fc(std::make_shared<Project>(c.width, 4 * c.width, kDeviation)),
        c_proj(std::make_shared<Project>(4 * c.width, c.width, out_deviation)) {
    register_module("ln_1", ln_1);
    register_module("attn", attn);
    register_module("ln_2", ln_2);
    auto mlp = std::make_shared<torch::nn::Module>();
    register_module("mlp", mlp);
    mlp->register_module("c_fc", c_fc);
    mlp->register_module("c_proj", c_proj);
  }

  void forward(Stream& stream) {
    stream.branch = attn->forward(add_norm(stream, ln_1));
    const Product wide = c_fc->product_of(add_norm(stream, ln_2));
    stream.branch = c_proj->product_of(gelu(wide, Gelu::tanh));
  }

  LayerNorm ln_1;
  std::shared_ptr<Attention> attn;
  LayerNorm ln_2;
  std::shared_ptr<Project> c_fc, c_proj;
};

struct Gpt final : torch::nn::Module {
  explicit Gpt(const ModelConfig& c)
      : wte(c.vocab, c.width),
        wpe(c.context, c.width),
        ln_f(gpt_norm(c.width)) {
    auto transformer = std::make_shared<torch::nn::Module>();
    register_module("transformer", transformer);
    transformer->register_module("wte", wte);
    transformer->register_module("wpe", wpe);
    torch::nn::init::normal_(wte->weight, 0, kDeviation);
    torch::nn::init::normal_(wpe->weight, 0, kDeviation);
    auto list = std::make_shared<torch::nn::Module>();
    transformer->register_module("h", list);
    // What 2 x layers branches add up to starts with the deviation of one.
    const double out_deviation =
        kDeviation / std::sqrt(2.0 * static_cast<double>(c.layers));
    for (std::int64_t i = 0; i < c.layers; ++i)
      blocks.push_back(list->register_module(
          std::to_string(i), std::make_shared<GptBlock>(c, out_deviation)));
    transformer->register_module("ln_f", ln_f);
  }

  // Tokens [batch, tokens], at most `context` -> [batch, tokens, vocab]
  at::Tensor forward(const at::Tensor& tokens) {
    Stream stream{embed(wte->weight, tokens) +
                  wpe->weight.narrow(0, 0, tokens.size(1))};
    for (const auto& block : blocks) block->forward(stream);
    return to_vocabulary(add_norm(stream, ln_f), wte->weight);
  }

  torch::nn::Embedding wte, wpe;
  std::vector<std::shared_ptr<GptBlock>> blocks;
  LayerNorm ln_f;
};

}  // namespace

Model make_gpt(const ModelConfig& config) {
  return as_model(std::make_shared<Gpt>(config));
}

}  // namespace lockstep
