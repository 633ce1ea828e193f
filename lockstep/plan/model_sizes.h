// SPDX-License-Identifier: Apache-2.0
// The numbers that make each built-in model what it is. The plan and the
// LibTorch module are both built from these.
#pragma once

#include <array>
#include <cstdint>

#include "lockstep/config/model.h"

namespace lockstep {

// Spoken digits: 1.5 s at 8 kHz.
constexpr std::int64_t kClipSamples = 12'000;

struct Conv1dStage {
  std::int64_t kernels, width, padding, pool;
};
constexpr std::array<Conv1dStage, 3> kConv1dStages = {
    {{50, 200, 100, 4}, {30, 100, 50, 3}, {10, 50, 25, 5}}};
constexpr std::int64_t kConv1dHidden = 100;

// Outputs of the linear model's layers before the last, which has `classes`.
constexpr std::array<std::int64_t, 3> kLinearWidths = {1000, 100, 10};

struct ResNetSize {
  std::array<std::int64_t, 4> blocks;
  bool bottleneck;  // 1x1, 3x3, 1x1 with four times the channels
  bool cifar;       // 3x3 stem of stride 1 and no max-pooling
};
ResNetSize resnet_size(ModelKind kind);

// `quick`: a 2x2 convolution, then groups of two 3x3 ones of these widths.
constexpr std::int64_t kQuickStem = 24, kQuickStemKernel = 2;
constexpr std::array<std::int64_t, 3> kQuickWidths = {64, 256, 256};
constexpr double kQuickLogitScale = 1.0 / 9;

struct MobileNetStage {
  std::int64_t expand, channels, repeat, stride;
};
constexpr std::array<MobileNetStage, 7> kMobileNetV2Stages = {{{1, 16, 1, 1},
                                                               {6, 24, 2, 2},
                                                               {6, 32, 3, 2},
                                                               {6, 64, 4, 2},
                                                               {6, 96, 3, 1},
                                                               {6, 160, 3, 2},
                                                               {6, 320, 1, 1}}};
constexpr std::int64_t kMobileNetV2Stem = 32;
constexpr std::int64_t kMobileNetV2Last = 1280;
constexpr double kMobileNetV2Dropout = 0.2;

struct VitSize {
  std::int64_t width, layers, heads, hidden;
};
VitSize vit_size(ModelKind kind);

// `variable`: `layers` square matrices of side `width`, each applied to
// `positions` pieces of the clip, then `extra_rows` rows of the last one once
// more. Ballast is parameters that are sent and updated, never multiplied.
struct VariableSize {
  std::int64_t width = 0, layers = 0, positions = 0, extra_rows = 0;
  std::int64_t ballast = 0;  // of all layers together

  std::int64_t ballast_of(std::int64_t layer) const;
};
// Parameters exactly as asked; FLOPs within `width` of what was asked. Error
// that names the nearest possible number when there is no such model.
VariableSize variable_size(const ModelConfig& config);

}  // namespace lockstep
