// SPDX-License-Identifier: Apache-2.0
// How an image of a batch is mirrored, as bits of a word that goes to the
// device. No torch: the compiler of GPU code reads it.
#pragma once

namespace lockstep {

constexpr int kFlip = 1;          // left to right
constexpr int kFlipVertical = 2;  // top to bottom

}  // namespace lockstep
