// SPDX-License-Identifier: Apache-2.0
// Row by row: source rows are blended into one row of floats, which is then
// shrunk sideways. No picture in between: the row stays in the first cache.
#include "lockstep/data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace lockstep {
namespace {

// Which source positions make an output position, and how much each counts.
struct Taps {
  std::int64_t most = 0;            // weights of a position
  std::vector<std::int64_t> first;  // first source position
  std::vector<std::int64_t> count;
  std::vector<float> weights;  // positions x most
};

// The triangle around `centre`, 1 at its top, 0 from `reach` on.
double triangle(std::int64_t position, double centre, double reach) {
  const double away = static_cast<double>(position) + 0.5 - centre;
  return std::max(0.0, 1 - std::abs(away) / reach);
}

void add_taps(Taps& taps, std::int64_t begin, std::int64_t end, double centre,
              double reach) {
  while (end - begin > 1 && triangle(end - 1, centre, reach) == 0) --end;
  double sum = 0;
  for (std::int64_t k = begin; k < end; ++k) sum += triangle(k, centre, reach);
  float* weights = taps.weights.data() +
                   static_cast<std::int64_t>(taps.first.size()) * taps.most;
  for (std::int64_t k = begin; k < end; ++k)
    weights[k - begin] = static_cast<float>(triangle(k, centre, reach) / sum);
  taps.first.push_back(begin);
  taps.count.push_back(end - begin);
}

Taps make_taps(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);  // half the triangle's base
  Taps taps;
  taps.most = static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1;
  taps.weights.assign(static_cast<std::size_t>(to * taps.most), 0);
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = static_cast<std::int64_t>(
        std::floor(std::max(centre - reach + 0.5, 0.0)));
    const auto end = std::min(
        static_cast<std::int64_t>(std::floor(centre + reach + 0.5)), from);
    add_taps(taps, begin, end, centre, reach);
  }
  return taps;
}

// out[i] = sum of weight k times row k: the rows lie `stride` apart.
void blend_rows(const std::uint8_t* rows, std::int64_t stride,
                const float* weights, std::int64_t count,
                std::vector<float>& out) {
  const std::size_t n = out.size();
  float* const to = out.data();
  for (std::size_t i = 0; i < n; ++i)
    to[i] = weights[0] * static_cast<float>(rows[i]);
  for (std::int64_t k = 1; k < count; ++k) {
    const std::uint8_t* const row = rows + k * stride;
    const float weight = weights[k];
    for (std::size_t i = 0; i < n; ++i)
      to[i] += weight * static_cast<float>(row[i]);
  }
}

// Four channels of a pixel. Compilers turn the arithmetic of this type into
// the machine's vectors, whatever they are.
using Pixel [[gnu::vector_size(16)]] = float;

Pixel load_pixel(const float* channels) {
  Pixel pixel;
  std::memcpy(&pixel, channels, sizeof pixel);
  return pixel;
}

void store(Pixel pixel, std::uint8_t* out) {
  using Levels [[gnu::vector_size(16)]] = std::int32_t;
  using Bytes [[gnu::vector_size(4)]] = std::uint8_t;
  const Bytes bytes =
      __builtin_convertvector(__builtin_convertvector(pixel, Levels), Bytes);
  std::memcpy(out, &bytes, sizeof bytes);
}

void shrink_row(const float* row, const Taps& taps, std::uint8_t* out) {
  const std::size_t width = taps.first.size();
  const float* weights = taps.weights.data();
  for (std::size_t x = 0; x < width; ++x, weights += taps.most) {
    const float* pixel = row + taps.first[x] * 4;
    const std::int64_t count = taps.count[x];
    Pixel sum = {0.5F, 0.5F, 0.5F, 0.5F};  // to round, not cut
    for (std::int64_t k = 0; k < count; ++k)
      sum += weights[k] * load_pixel(pixel + 4 * k);
    store(sum, out + x * 4);
  }
}

}  // namespace

void resize_image(const Image& from, std::int64_t width, std::int64_t height,
                  Image& to) {
  to.resize(width, height);
  if (from.width == width && from.height == height) {
    std::memcpy(to.pixels.data(), from.pixels.data(), from.pixels.size());
    return;
  }
  const Taps across = make_taps(from.width, width);
  const Taps down = make_taps(from.height, height);
  std::vector<float> row(static_cast<std::size_t>(from.width * 4));
  for (std::int64_t y = 0; y < height; ++y) {
    const auto at = static_cast<std::size_t>(y);
    blend_rows(from.row(down.first[at]), from.width * 4,
               down.weights.data() + y * down.most, down.count[at], row);
    shrink_row(row.data(), across, to.row(y));
  }
}

}  // namespace lockstep
