// SPDX-License-Identifier: Apache-2.0
// Random changes of training images, then pixels as the model reads them. All
// chance is drawn first, from a seed; what follows is a pure function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lockstep/config/data.h"
#include "lockstep/data/image.h"
#include "lockstep/kernels/image_place.h"

namespace lockstep {

// What chance chose for one image. The default leaves it as it is.
struct Change {
  std::int64_t shift_x = 0, shift_y = 0;  // window of the padded image, pixels
  bool reflect = false;  // beyond its edge the image goes on mirrored
  bool flip = false, flip_vertical = false;
  double angle_rad = 0;   // counter-clockwise
  double brightness = 1;  // factor on the pixels, the result cut at white
  bool operator==(const Change&) const = default;
};

// Drawn from the settings' ranges; the same seed, the same change. With
// flip_alternate the seed's lowest bit says who is mirrored (SampleSeeds).
Change draw_change(const DataConfig& config, std::uint64_t seed);

// The change, worked out for images of this size.
ImagePlace place_of(const Change& change, std::int64_t width,
                    std::int64_t height);

// out = (pixel / 255 - mean) / std, channel by channel.
struct Normalise {
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};
};

// From data.mean and data.std: none, one for all channels, or three. Throws
// Error{Fault::config} otherwise.
Normalise normalise_of(const DataConfig& config);

// A channel's numbers: min(gain * pixel, white) - offset.
struct Levels {
  float gain = 0, white = 0, offset = 0;
};
Levels levels_of(const Normalise& normalise, std::size_t channel,
                 float brightness);

// Window, flips, turn about the centre (bilinear), brightness, normalise, in
// this order; black where the image does not reach, unless it is reflected
// there (what is turned never is). Writes three planes of height x width
// floats, red first.
void write_planes(const Image& image, const ImagePlace& place, bool reflect,
                  const Normalise& normalise, float* out);
void write_planes(const Image& image, const Change& change,
                  const Normalise& normalise, float* out);

}  // namespace lockstep
