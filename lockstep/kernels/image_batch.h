// SPDX-License-Identifier: Apache-2.0
// A batch of images that lie on a GPU as bytes: gathered, cropped, mirrored,
// turned, made brighter and normalised in one pass (gpu_table.h).
// data/augment.h is its reference and does the same on a CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace lockstep {

struct ImageBatch {
  at::Tensor pixels;     // [images, height, width, 4], uint8; three are read
  at::Tensor classes;    // [images], int64
  at::Tensor order;      // [batch, 8], int32: an ImagePlace each
  bool reflect = false;  // beyond its edge an image goes on mirrored, or black
  // Of each channel: min(brightness * gain * pixel, white) - offset.
  std::array<float, 3> gain = {}, white = {}, offset = {};
  // Filled in: [batch, 3, height, width], fp32 or bf16, channels first or last;
  // [batch], int64.
  at::Tensor inputs, targets;
};

}  // namespace lockstep
