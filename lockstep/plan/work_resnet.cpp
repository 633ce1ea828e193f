// SPDX-License-Identifier: Apache-2.0
// ResNet-18, -34 and -50 as torchvision builds them; `resnet18` is the one for
// 32 px images: 3x3 stem, no max-pooling, projections where shapes change.
#include "lockstep/plan/model_sizes.h"
#include "lockstep/plan/work_builder.h"
#include "lockstep/plan/work_families.h"

namespace lockstep {
namespace {

LayerTensor conv_norm(WorkBuilder& b, const LayerTensor& x,
                      const std::string& conv, const std::string& norm,
                      const ConvSize& size) {
  return b.batch_norm(b.conv(x, conv, size), norm);
}

LayerTensor shortcut(WorkBuilder& b, const LayerTensor& x,
                     const std::string& path, std::int64_t out,
                     std::int64_t stride) {
  if (stride == 1 && x.shape[0] == out) return x;
  return conv_norm(b, x, path + ".downsample.0", path + ".downsample.1",
                   {.out = out, .stride = stride});
}

LayerTensor basic_block(WorkBuilder& b, const LayerTensor& in,
                        const std::string& path, std::int64_t planes,
                        std::int64_t stride) {
  LayerTensor x =
      conv_norm(b, in, path + ".conv1", path + ".bn1",
                {.out = planes, .kernel = 3, .stride = stride, .padding = 1});
  x = b.relu(x, path + ".relu");
  x = conv_norm(b, x, path + ".conv2", path + ".bn2",
                {.out = planes, .kernel = 3, .padding = 1});
  x = b.add_in_place(x, shortcut(b, in, path, planes, stride), path + ".add");
  return b.relu(x, path + ".relu");
}

LayerTensor bottleneck(WorkBuilder& b, const LayerTensor& in,
                       const std::string& path, std::int64_t planes,
                       std::int64_t stride) {
  LayerTensor x =
      conv_norm(b, in, path + ".conv1", path + ".bn1", {.out = planes});
  x = b.relu(x, path + ".relu");
  x = conv_norm(b, x, path + ".conv2", path + ".bn2",
                {.out = planes, .kernel = 3, .stride = stride, .padding = 1});
  x = b.relu(x, path + ".relu");
  x = conv_norm(b, x, path + ".conv3", path + ".bn3", {.out = 4 * planes});
  x = b.add_in_place(x, shortcut(b, in, path, 4 * planes, stride),
                     path + ".add");
  return b.relu(x, path + ".relu");
}

LayerTensor stem(WorkBuilder& b, bool cifar) {
  const ConvSize size =
      cifar ? ConvSize{.out = 64, .kernel = 3, .padding = 1}
            : ConvSize{.out = 64, .kernel = 7, .stride = 2, .padding = 3};
  LayerTensor x = b.relu(conv_norm(b, b.input(), "conv1", "bn1", size), "relu");
  if (cifar) return x;
  return b.max_pool(x, "maxpool", {.kernel = 3, .stride = 2, .padding = 1});
}

}  // namespace

WorkPlan plan_resnet(const ModelConfig& config) {
  const ResNetSize size = resnet_size(config.kind);
  WorkBuilder b(config.kind, {3, config.image_px, config.image_px});
  LayerTensor x = stem(b, size.cifar);
  for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
    for (std::int64_t i = 0; i < size.blocks[stage]; ++i) {
      const std::string path =
          "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      const auto block = size.bottleneck ? bottleneck : basic_block;
      x = block(b, x, path, std::int64_t{64} << stage, stride);
    }
  }
  b.linear(b.average_pool(x, "avgpool"), "fc", {.out = config.classes});
  return b.finish();
}

}  // namespace lockstep
