// SPDX-License-Identifier: Apache-2.0
// GPT-2 with Hugging Face's names, weights as [in, out] and a head that uses
// the token embedding once more. No dropout.
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

LayerTensor project(WorkBuilder& b, const LayerTensor& x,
                    const std::string& name, std::int64_t out) {
  return b.linear(x, name, {.out = out, .type = "Conv1D", .in_first = true});
}

LayerTensor gpt_block(WorkBuilder& b, const LayerTensor& in,
                      const std::string& path, const ModelConfig& c) {
  LayerTensor x = b.layer_norm(in, path + ".ln_1");
  x = project(b, x, path + ".attn.c_attn", 3 * c.width);
  x = b.attention(x, path + ".attn", c.heads);
  x = project(b, x, path + ".attn.c_proj", c.width);
  const LayerTensor middle = b.add(in, x, path + ".add_1");
  x = b.layer_norm(middle, path + ".ln_2");
  x = project(b, x, path + ".mlp.c_fc", 4 * c.width);
  x = b.gelu(x, path + ".mlp.act");
  x = project(b, x, path + ".mlp.c_proj", c.width);
  return b.add(middle, x, path + ".add_2");
}

}  // namespace

WorkPlan plan_gpt(const ModelConfig& config) {
  WorkBuilder b(config.kind, {config.context}, /*tokens=*/true);
  LayerTensor x =
      b.embedding(b.input(), "transformer.wte", config.vocab, config.width);
  x = b.move(x, "transformer.wpe", "Add", x.shape);
  b.param("transformer.wpe.weight", {config.context, config.width});
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = gpt_block(b, x, "transformer.h." + std::to_string(i), config);
  x = b.layer_norm(x, "transformer.ln_f");
  b.linear(x, "lm_head",
           {.out = config.vocab, .bias = false, .shared = "transformer.wte"});
  return b.finish();
}

}  // namespace lockstep
