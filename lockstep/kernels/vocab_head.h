// SPDX-License-Identifier: Apache-2.0
// The last product of a language model, in bf16 on a GPU (half.h): features to
// one number for each token of the vocabulary, through the embedding's weight.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

// at::linear(x, weight) in bf16, differentiable, when takes_half(x, weight).
// [..., width], [vocab, width] -> [..., vocab], padded (padded.h) where the
// vocabulary asks for it. A padded gradient must hold zeros in its padding, as
// that of kernels/loss.h does.
at::Tensor vocab_head(const at::Tensor& x, const at::Tensor& weight);

}  // namespace lockstep
