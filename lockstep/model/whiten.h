// SPDX-License-Identifier: Apache-2.0
// A first convolution that decorrelates: its kernels are the principal
// directions of small patches of the training images, scaled to unit variance,
// and their negatives (model.whiten). It is set once and not trained.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lockstep/model/model.h"

namespace lockstep {

// Images that are looked at; more do not change the answer.
constexpr std::int64_t kWhitenImages = 5000;

// Kernels of side `side` for images [images, channels, height, width]:
// [2 x channels x side x side, channels, side, side], the least direction
// first. In double precision on the images' device.
at::Tensor whitening_kernels(const at::Tensor& images, std::int64_t side);

// Fills in the stem of a model that was made with model.whiten.
void whiten(const Model& model, const at::Tensor& images);

}  // namespace lockstep
