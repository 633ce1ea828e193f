// SPDX-License-Identifier: Apache-2.0
// Vision transformers as torchvision builds them: ViT-B/16, and vit_tiny with
// the sizes of DeiT-tiny (width 192, 12 layers, 3 heads).
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

LayerTensor encoder_layer(WorkBuilder& b, const LayerTensor& in,
                          const std::string& path, const VitSize& size) {
  const std::string att = path + ".self_attention";
  LayerTensor x = b.layer_norm(in, path + ".ln_1");
  x = b.linear(x, att + ".in_proj",
               {.out = 3 * size.width,
                .weight = att + ".in_proj_weight",
                .bias_name = att + ".in_proj_bias"});
  x = b.attention(x, att, size.heads);
  x = b.linear(x, att + ".out_proj", {.out = size.width});
  const LayerTensor middle = b.add(x, in, path + ".add_1");
  x = b.layer_norm(middle, path + ".ln_2");
  x = b.linear(x, path + ".mlp.0", {.out = size.hidden});
  x = b.gelu(x, path + ".mlp.1");
  x = b.linear(x, path + ".mlp.3", {.out = size.width});
  return b.add(middle, x, path + ".add_2");
}

}  // namespace

WorkPlan plan_vit(const ModelConfig& config) {
  const VitSize size = vit_size(config.kind);
  const std::int64_t side = config.image_px / config.patch_px;
  const Shape tokens = {side * side + 1, size.width};
  WorkBuilder b(config.kind, {3, config.image_px, config.image_px});
  const std::size_t class_token = b.declare("class_token", {1, 1, size.width});
  LayerTensor x = b.conv(b.input(), "conv_proj",
                         {.out = size.width,
                          .kernel = config.patch_px,
                          .stride = config.patch_px,
                          .bias = true});
  x = b.move(x, "class_token", "Concat", tokens);
  b.attach(class_token);
  x = b.move(x, "encoder.pos_embedding", "Add", tokens);
  b.param("encoder.pos_embedding", {1, tokens[0], tokens[1]});
  for (std::int64_t i = 0; i < size.layers; ++i)
    x = encoder_layer(b, x, "encoder.layers.encoder_layer_" + std::to_string(i),
                      size);
  x = b.layer_norm(x, "encoder.ln");
  // The class token alone goes on.
  x = WorkBuilder::view(x, {size.width});
  b.linear(x, "heads.head", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
