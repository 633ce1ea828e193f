// SPDX-License-Identifier: Apache-2.0
// Pictures to another size with a triangle filter that widens as the picture
// shrinks (antialiasing): what Pillow calls BILINEAR and torchvision
// Resize(antialias=True), within one of 255 levels.
#pragma once

#include "lockstep/data/image.h"

namespace lockstep {

// The whole of `from`, stretched to `width` x `height`. `to` keeps its memory.
void resize_image(const Image& from, std::int64_t width, std::int64_t height,
                  Image& to);

}  // namespace lockstep
