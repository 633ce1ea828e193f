// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/data/random.h"

namespace lockstep {
namespace {

using Word = std::uint32_t;  // a pixel, four channels of eight bits
static_assert(std::endian::native == std::endian::little,
              "red is taken from the lowest byte of a word");

Word load_word(const std::uint8_t* pixel) {
  Word word;
  std::memcpy(&word, pixel, sizeof word);
  return word;
}

// Two neighbouring pixels, sixteen bits a channel: products of eight bits by
// at most 256 fit. Compilers turn this into the machine's vectors.
using Pair [[gnu::vector_size(16)]] = std::uint16_t;
using PairBytes [[gnu::vector_size(8)]] = std::uint8_t;

Pair load_pair(const void* left_and_right) {
  PairBytes bytes;
  std::memcpy(&bytes, left_and_right, sizeof bytes);
  return __builtin_convertvector(bytes, Pair);
}

// Bilinear, rounded after each direction; weights in 1/256.
Word blend(Pair top, Pair low, std::int64_t x, std::int64_t y) {
  const auto fx = static_cast<std::uint16_t>((x >> (kFraction - 8)) & 255);
  const auto fy = static_cast<std::uint16_t>((y >> (kFraction - 8)) & 255);
  const auto gx = static_cast<std::uint16_t>(256 - fx);
  const auto gy = static_cast<std::uint16_t>(256 - fy);
  const Pair column = (top * gy + low * fy + 128) >> 8;
  const Pair weighted = column * Pair{gx, gx, gx, gx, fx, fx, fx, fx};
  const Pair right =
      __builtin_shufflevector(weighted, weighted, 4, 5, 6, 7, 4, 5, 6, 7);
  const Pair sum = (weighted + right + 128) >> 8;
  const PairBytes bytes = __builtin_convertvector(sum, PairBytes);
  Word word;
  std::memcpy(&word, &bytes, sizeof word);
  return word;
}

// Samples an image between its pixels; black outside. Positions are in 1/65536
// of a pixel.
class Sampler {
 public:
  explicit Sampler(const Image& image)
      : image_(image), width_(image.width), height_(image.height) {}

  // All four neighbours are in the image.
  bool inside(std::int64_t x, std::int64_t y) const {
    const std::int64_t left = x >> kFraction, top = y >> kFraction;
    return left >= 0 && top >= 0 && left < width_ - 1 && top < height_ - 1;
  }
  Word at_inside(std::int64_t x, std::int64_t y) const {
    const std::uint8_t* p = image_.row(y >> kFraction) + (x >> kFraction) * 4;
    return blend(load_pair(p), load_pair(p + width_ * 4), x, y);
  }
  Word at(std::int64_t x, std::int64_t y) const {
    const std::int64_t left = x >> kFraction, top = y >> kFraction;
    const std::array<Word, 2> up = {pixel(left, top), pixel(left + 1, top)};
    const std::array<Word, 2> low = {pixel(left, top + 1),
                                     pixel(left + 1, top + 1)};
    return blend(load_pair(up.data()), load_pair(low.data()), x, y);
  }

 private:
  Word pixel(std::int64_t x, std::int64_t y) const {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return 0;
    return load_word(image_.row(y) + x * 4);
  }

  const Image& image_;
  const std::int64_t width_, height_;
};

// A row of the result is a straight line through the source: inside the image
// from one pixel to another, so only the ends need a look at the border.
void turn_row(const Sampler& sampler, const ImagePlace& p, std::int64_t y,
              std::vector<Word>& out) {
  const auto sx = [&](std::int64_t x) { return p.x_x * x + p.x_y * y + p.x_0; };
  const auto sy = [&](std::int64_t x) { return p.y_x * x + p.y_y * y + p.y_0; };
  auto end = static_cast<std::int64_t>(out.size());
  std::int64_t begin = 0;
  Word* const words = out.data();
  for (; begin < end && !sampler.inside(sx(begin), sy(begin)); ++begin)
    words[begin] = sampler.at(sx(begin), sy(begin));
  for (; end > begin && !sampler.inside(sx(end - 1), sy(end - 1)); --end)
    words[end - 1] = sampler.at(sx(end - 1), sy(end - 1));
  for (std::int64_t x = begin; x < end; ++x)
    words[x] = sampler.at_inside(sx(x), sy(x));
}

// A place beyond the edge, mirrored at the edge's pixel.
std::int64_t reflected(std::int64_t at, std::int64_t size) {
  if (at < 0) at = -at;
  return at < size ? at : 2 * (size - 1) - at;
}

// Without a turn every pixel comes from one pixel.
void move_row(const Image& image, const ImagePlace& p, bool reflect,
              std::int64_t y, std::vector<Word>& out) {
  std::fill(out.begin(), out.end(), 0);
  std::int64_t from_y = (p.y_y * y + p.y_0) >> kFraction;
  if (reflect) from_y = reflected(from_y, image.height);
  if (from_y < 0 || from_y >= image.height) return;
  const std::uint8_t* row = image.row(from_y);
  for (std::int64_t x = 0; x < image.width; ++x) {
    std::int64_t from_x = (p.x_x * x + p.x_0) >> kFraction;
    if (reflect) from_x = reflected(from_x, image.width);
    if (from_x >= 0 && from_x < image.width)
      out[static_cast<std::size_t>(x)] = load_word(row + from_x * 4);
  }
}

// One channel of a row: cut at white, then (value - mean) / std.
void write_channel(const std::vector<Word>& row, int shift,
                   const Levels& levels, float* out) {
  const auto [gain, white, offset] = levels;
  const std::size_t n = row.size();
  const Word* const words = row.data();
  for (std::size_t x = 0; x < n; ++x) {
    const auto level = static_cast<float>(
        static_cast<std::int32_t>((words[x] >> shift) & 255));
    const float value = level * gain;
    out[x] = (value < white ? value : white) - offset;
  }
}

}  // namespace

Change draw_change(const DataConfig& config, std::uint64_t seed) {
  Random random(seed);
  const auto either_way = [&] { return 2 * random.unit() - 1; };
  Change change;
  if (config.crop_pad_px > 0) {
    const auto windows = static_cast<std::uint64_t>(2 * config.crop_pad_px + 1);
    change.shift_x =
        static_cast<std::int64_t>(random.below(windows)) - config.crop_pad_px;
    change.shift_y =
        static_cast<std::int64_t>(random.below(windows)) - config.crop_pad_px;
    change.reflect = config.crop_fill == CropFill::reflect;
  }
  if (config.flip && config.flip_alternate)
    change.flip = (seed & 1) != 0;
  else if (config.flip)
    change.flip = (random.next() >> 63) != 0;
  if (config.flip_vertical) change.flip_vertical = (random.next() >> 63) != 0;
  if (config.rotate_deg > 0)
    change.angle_rad =
        either_way() * config.rotate_deg * std::numbers::pi / 180;
  if (config.brightness > 0)
    change.brightness = 1 + either_way() * config.brightness;
  return change;
}

// The last change is undone first: turn, flips, window.
ImagePlace place_of(const Change& change, std::int64_t width,
                    std::int64_t height) {
  const double cx = static_cast<double>(width - 1) / 2;
  const double cy = static_cast<double>(height - 1) / 2;
  const double cos = std::cos(change.angle_rad);
  const double sin = std::sin(change.angle_rad);
  const double mirror_x = change.flip ? -1 : 1;
  const double mirror_y = change.flip_vertical ? -1 : 1;
  const auto fixed = [](double pixels) {
    return static_cast<std::int32_t>(std::lround(pixels * kPixel));
  };
  return {.x_x = fixed(mirror_x * cos),
          .x_y = fixed(-mirror_x * sin),
          .x_0 = fixed(cx + mirror_x * (sin * cy - cos * cx) +
                       static_cast<double>(change.shift_x)),
          .y_x = fixed(mirror_y * sin),
          .y_y = fixed(mirror_y * cos),
          .y_0 = fixed(cy - mirror_y * (sin * cx + cos * cy) +
                       static_cast<double>(change.shift_y)),
          .brightness = static_cast<float>(change.brightness)};
}

Normalise normalise_of(const DataConfig& config) {
  const auto fill = [](const std::vector<double>& from, const char* name,
                       std::array<float, 3>& to) {
    if (from.size() != 0 && from.size() != 1 && from.size() != 3)
      throw Error(
          Fault::config, name,
          fmt::format("has {} numbers, images have 3 channels", from.size()),
          "give none, one for all channels, or three");
    for (std::size_t c = 0; c < 3 && !from.empty(); ++c)
      to[c] = static_cast<float>(from[from.size() == 1 ? 0 : c]);
  };
  Normalise normalise;
  fill(config.mean, "data.mean", normalise.mean);
  fill(config.std, "data.std", normalise.std);
  return normalise;
}

Levels levels_of(const Normalise& normalise, std::size_t channel,
                 float brightness) {
  const float std = normalise.std[channel];
  return {.gain = brightness * (1.0F / 255 / std),
          .white = 1 / std,
          .offset = normalise.mean[channel] / std};
}

void write_planes(const Image& image, const ImagePlace& place, bool reflect,
                  const Normalise& normalise, float* out) {
  const Sampler sampler(image);
  const bool turned = place.x_y != 0 || place.y_x != 0;
  std::vector<Word> row(static_cast<std::size_t>(image.width));
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (turned)
      turn_row(sampler, place, y, row);
    else
      move_row(image, place, reflect, y, row);
    for (int c = 0; c < 3; ++c) {
      write_channel(
          row, 8 * c,
          levels_of(normalise, static_cast<std::size_t>(c), place.brightness),
          out + (c * image.height + y) * image.width);
    }
  }
}

void write_planes(const Image& image, const Change& change,
                  const Normalise& normalise, float* out) {
  write_planes(image, place_of(change, image.width, image.height),
               change.reflect, normalise, out);
}

}  // namespace lockstep
