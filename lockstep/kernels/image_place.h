// SPDX-License-Identifier: Apache-2.0
// Where the pixels of an image of a batch come from and how bright they are, as
// words that go to the device. No torch: the compiler of GPU code reads it.
#pragma once

#include <cstdint>

namespace lockstep {

constexpr int kFraction = 16;  // bits behind the point of a position
constexpr std::int32_t kPixel = 1 << kFraction;

// Pixel (x, y) of the result comes from (x_x x + x_y y + x_0, y_x x + y_y y +
// y_0), in 1/65536 of a pixel: window, flips and turn in one.
struct ImagePlace {
  std::int32_t x_x = kPixel, x_y = 0, x_0 = 0;
  std::int32_t y_x = 0, y_y = kPixel, y_0 = 0;
  float brightness = 1;    // factor on the pixels
  std::int32_t image = 0;  // which of the set
};
static_assert(sizeof(ImagePlace) == 32, "a row of an order is eight words");

}  // namespace lockstep
