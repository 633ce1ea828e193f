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

Word load(const std::uint8_t* pixel) {
  Word word;
  std::memcpy(&word, pixel, sizeof word);
  return word;
}

// Where a pixel of the result comes from: x' = x_x x + x_y y + x_0, and y'.
struct Map {
  double x_x = 1, x_y = 0, x_0 = 0;
  double y_x = 0, y_y = 1, y_0 = 0;
};

// The last change is undone first: turn, flips, window.
Map map_of(const Image& image, const Change& change) {
  const double cx = static_cast<double>(image.width - 1) / 2;
  const double cy = static_cast<double>(image.height - 1) / 2;
  const double cos = std::cos(change.angle_rad);
  const double sin = std::sin(change.angle_rad);
  Map m{cos, -sin, cx - cos * cx + sin * cy,
        sin, cos,  cy - sin * cx - cos * cy};
  if (change.flip) m = {-m.x_x, -m.x_y, 2 * cx - m.x_0, m.y_x, m.y_y, m.y_0};
  if (change.flip_vertical)
    m = {m.x_x, m.x_y, m.x_0, -m.y_x, -m.y_y, 2 * cy - m.y_0};
  m.x_0 += static_cast<double>(change.shift_x);
  m.y_0 += static_cast<double>(change.shift_y);
  return m;
}

// Two channels at a time in one word: products of eight bits by eight fit the
// sixteen each has, since the four weights sum to 256.
Word blend(const std::array<Word, 4>& pixels,
           const std::array<Word, 4>& weights) {
  constexpr Word kEven = 0x00ff00ff, kHalf = 0x00800080;
  Word even = kHalf, odd = kHalf;
  for (std::size_t k = 0; k < 4; ++k) {
    even += (pixels[k] & kEven) * weights[k];
    odd += ((pixels[k] >> 8) & kEven) * weights[k];
  }
  return ((even >> 8) & kEven) | (odd & ~kEven);
}

constexpr int kFraction = 16;  // bits behind the point of a position

// Bilinear; black outside. Positions in 1/65536 of a pixel.
class Sampler {
 public:
  explicit Sampler(const Image& image)
      : image_(image), width_(image.width), height_(image.height) {}

  Word at(std::int64_t x, std::int64_t y) const {
    const std::int64_t left = x >> kFraction, top = y >> kFraction;
    const auto fx = static_cast<Word>((x >> 8) & 255);
    const auto fy = static_cast<Word>((y >> 8) & 255);
    const Word low_right = (fx * fy + 128) >> 8;
    const std::array<Word, 4> weights = {
        256 - fx - fy + low_right, fx - low_right, fy - low_right, low_right};
    if (left >= 0 && top >= 0 && left < width_ - 1 && top < height_ - 1) {
      const std::uint8_t* p = image_.row(top) + left * 4;
      const std::uint8_t* q = p + width_ * 4;
      return blend({load(p), load(p + 4), load(q), load(q + 4)}, weights);
    }
    return blend({pixel(left, top), pixel(left + 1, top), pixel(left, top + 1),
                  pixel(left + 1, top + 1)},
                 weights);
  }

 private:
  Word pixel(std::int64_t x, std::int64_t y) const {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return 0;
    return load(image_.row(y) + x * 4);
  }

  const Image& image_;
  const std::int64_t width_, height_;
};

void turn_row(const Sampler& sampler, const Map& m, std::int64_t y,
              std::vector<Word>& out) {
  constexpr double kOne = 1 << kFraction;
  const auto fixed = [](double v) { return std::llround(v * kOne); };
  std::int64_t sx = fixed(m.x_y * static_cast<double>(y) + m.x_0);
  std::int64_t sy = fixed(m.y_y * static_cast<double>(y) + m.y_0);
  const std::int64_t step_x = fixed(m.x_x), step_y = fixed(m.y_x);
  for (Word& word : out) {
    word = sampler.at(sx, sy);
    sx += step_x;
    sy += step_y;
  }
}

// Without a turn every pixel comes from one pixel.
void move_row(const Image& image, const Map& m, std::int64_t y,
              std::vector<Word>& out) {
  std::fill(out.begin(), out.end(), 0);
  const auto from_y = std::llround(m.y_y * static_cast<double>(y) + m.y_0);
  if (from_y < 0 || from_y >= image.height) return;
  const std::uint8_t* row = image.row(from_y);
  const auto x_0 = std::llround(m.x_0);
  const std::int64_t step = m.x_x < 0 ? -1 : 1;
  for (std::int64_t x = 0; x < image.width; ++x) {
    const std::int64_t from_x = x_0 + step * x;
    if (from_x >= 0 && from_x < image.width)
      out[static_cast<std::size_t>(x)] = load(row + from_x * 4);
  }
}

// One channel of a row: cut at white, then (value - mean) / std.
void write_channel(const std::vector<Word>& row, int shift, float brightness,
                   float mean, float std, float* out) {
  const float gain = brightness / 255, scale = 1 / std;
  const std::size_t n = row.size();
  const Word* const words = row.data();
  for (std::size_t x = 0; x < n; ++x) {
    const auto level = static_cast<float>(
        static_cast<std::int32_t>((words[x] >> shift) & 255));
    const float value = level * gain;
    out[x] = ((value < 1 ? value : 1) - mean) * scale;
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
  }
  if (config.flip) change.flip = (random.next() >> 63) != 0;
  if (config.flip_vertical) change.flip_vertical = (random.next() >> 63) != 0;
  if (config.rotate_deg > 0)
    change.angle_rad =
        either_way() * config.rotate_deg * std::numbers::pi / 180;
  if (config.brightness > 0)
    change.brightness = 1 + either_way() * config.brightness;
  return change;
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

void write_planes(const Image& image, const Change& change,
                  const Normalise& normalise, float* out) {
  const Map map = map_of(image, change);
  const Sampler sampler(image);
  const bool turned = change.angle_rad != 0;
  const auto brightness = static_cast<float>(change.brightness);
  std::vector<Word> row(static_cast<std::size_t>(image.width));
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (turned)
      turn_row(sampler, map, y, row);
    else
      move_row(image, map, y, row);
    for (int c = 0; c < 3; ++c) {
      const auto at = static_cast<std::size_t>(c);
      write_channel(row, 8 * c, brightness, normalise.mean[at],
                    normalise.std[at],
                    out + (c * image.height + y) * image.width);
    }
  }
}

}  // namespace lockstep
