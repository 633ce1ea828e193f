// SPDX-License-Identifier: Apache-2.0
// Random changes of training images, then pixels as the model reads them. All
// chance is drawn first, from a seed; what follows is a pure function.
#pragma once

#include <array>
#include <cstdint>

#include "lockstep/config/data.h"
#include "lockstep/data/image.h"

namespace lockstep {

// What chance chose for one image. The default leaves it as it is.
struct Change {
  std::int64_t shift_x = 0, shift_y = 0;  // window of the padded image, pixels
  bool flip = false, flip_vertical = false;
  double angle_rad = 0;   // counter-clockwise
  double brightness = 1;  // factor on the pixels, the result cut at white
  bool operator==(const Change&) const = default;
};

// Drawn from the settings' ranges; the same seed, the same change.
Change draw_change(const DataConfig& config, std::uint64_t seed);

// out = (pixel / 255 - mean) / std, channel by channel.
struct Normalise {
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};
};

// From data.mean and data.std: none, one for all channels, or three. Throws
// Error{Fault::config} otherwise.
Normalise normalise_of(const DataConfig& config);

// Window, flips, turn about the centre (bilinear), brightness, normalise, in
// this order; black where the image does not reach. Writes three planes of
// height x width floats, red first.
void write_planes(const Image& image, const Change& change,
                  const Normalise& normalise, float* out);

}  // namespace lockstep
