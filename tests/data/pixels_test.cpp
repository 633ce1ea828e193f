// SPDX-License-Identifier: Apache-2.0
// Resizing and augmentation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>

#include "lockstep/data/augment.h"
#include "lockstep/data/resize.h"
#include "tests/data/fixtures.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

template <class Colour>
Image make_image(std::int64_t width, std::int64_t height, Colour colour) {
  Image image;
  image.resize(width, height);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        image.row(y)[x * 4 + c] = static_cast<std::uint8_t>(colour(x, y, c));
  return image;
}

Image pattern(std::int64_t width, std::int64_t height) {
  return make_image(width, height, [](auto x, auto y, auto c) {
    return (x * 7 + y * 13 + c * 50) % 256;
  });
}

std::vector<int> red(const Image& image) {
  std::vector<int> out;
  for (std::size_t i = 0; i < image.pixels.size(); i += 4)
    out.push_back(image.pixels[i]);
  return out;
}

// Pillow 13.0: Image.resize((5, 4), BILINEAR) of the pattern.
TEST(Resize, ShrinksAsPillowDoes) {
  Image small;
  resize_image(pattern(9, 11), 5, 4, small);
  const std::vector<int> pillow = {19,  30,  43,  56,  67,  51,  62,
                                   75,  88,  99,  87,  98,  111, 124,
                                   135, 119, 130, 143, 156, 167};
  const std::vector<int> ours = red(small);
  ASSERT_EQ(ours.size(), pillow.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i], pillow[i], 1) << i;
}

TEST(Resize, GrowsAsPillowDoes) {
  Image large;
  resize_image(pattern(9, 11), 20, 14, large);
  const std::vector<int> pillow = {0,  17,  36,  55,  75,  95, 115,
                                   81, 102, 121, 141, 160, 178};
  const std::vector<int> ours = red(large);
  for (std::size_t i = 0; i < pillow.size(); ++i)
    EXPECT_NEAR(ours[i * 23], pillow[i], 1) << i;
}

RC_GTEST_PROP(Resize, OneColourStaysThatColour, ()) {
  const auto side = [] { return *rc::gen::inRange<std::int64_t>(1, 60); };
  const int level = *rc::gen::inRange(0, 256);
  const Image plain =
      make_image(side(), side(), [&](auto, auto, auto) { return level; });
  Image other;
  resize_image(plain, side(), side(), other);
  for (std::size_t i = 0; i < other.pixels.size(); ++i)
    if (i % 4 != 3) RC_ASSERT(other.pixels[i] == level);
}

std::vector<float> planes(const Image& image, const Change& change,
                          const Normalise& normalise = {}) {
  std::vector<float> out(
      static_cast<std::size_t>(3 * image.width * image.height), -99.0F);
  write_planes(image, change, normalise, out.data());
  return out;
}

// Level of a channel of a pixel, 0 to 255.
double level(const std::vector<float>& out, const Image& image, std::int64_t x,
             std::int64_t y, std::int64_t c = 0) {
  return 255.0 * static_cast<double>(out[static_cast<std::size_t>(
                     (c * image.height + y) * image.width + x)]);
}

TEST(Augment, WithoutChangePixelsAreOver255) {
  const Image image = pattern(5, 3);
  const auto out = planes(image, {});
  for (std::int64_t c = 0; c < 3; ++c)
    EXPECT_NEAR(level(out, image, 4, 2, c), image.row(2)[4 * 4 + c], 1e-4);
}

TEST(Augment, NormalisesEachChannel) {
  const Image image = pattern(4, 4);
  const auto out = planes(
      image, {}, {.mean = {0.5F, 0.4F, 0.3F}, .std = {0.2F, 0.5F, 2.0F}});
  EXPECT_NEAR(out[0], (0.0 - 0.5) / 0.2, 1e-5);
  EXPECT_NEAR(out[16], (50.0 / 255 - 0.4) / 0.5, 1e-5);
  EXPECT_NEAR(out[32], (100.0 / 255 - 0.3) / 2.0, 1e-5);
}

TEST(Augment, FlipsAreExactMirrors) {
  const Image image = pattern(6, 5);
  const auto mirrored = planes(image, {.flip = true});
  const auto turned = planes(image, {.flip_vertical = true});
  for (std::int64_t y = 0; y < 5; ++y)
    for (std::int64_t x = 0; x < 6; ++x) {
      EXPECT_NEAR(level(mirrored, image, x, y), image.row(y)[(5 - x) * 4],
                  1e-4);
      EXPECT_NEAR(level(turned, image, x, y), image.row(4 - y)[x * 4], 1e-4);
    }
}

TEST(Augment, TheWindowOfThePaddedImageIsBlackOutside) {
  const Image image =
      make_image(4, 4, [](auto x, auto y, auto) { return 10 + x + 10 * y; });
  const auto out = planes(image, {.shift_x = 1, .shift_y = -2});
  EXPECT_NEAR(level(out, image, 0, 2), 11, 1e-4);  // from (1, 0)
  EXPECT_EQ(level(out, image, 3, 2), 0);
  EXPECT_EQ(level(out, image, 0, 1), 0);
}

TEST(Augment, BrightnessScalesAndStopsAtWhite) {
  const Image image =
      make_image(2, 1, [](auto x, auto, auto) { return x == 0 ? 100 : 200; });
  const auto out = planes(image, {.brightness = 1.5});
  EXPECT_NEAR(level(out, image, 0, 0), 150, 1e-3);
  EXPECT_NEAR(level(out, image, 1, 0), 255, 1e-3);
}

// torchvision 0.26: rotate(image, 30, InterpolationMode.BILINEAR).
TEST(Augment, TurnsAsTorchvisionDoes) {
  const Image image = make_image(16, 16, [](auto x, auto y, auto c) {
    return c == 0 ? x * 10 + y * 4 : c == 1 ? y * 12 + 20 : 200 - x * 9;
  });
  const auto out = planes(image, {.angle_rad = std::numbers::pi / 6});
  const struct {
    std::int64_t y, x;
    std::array<int, 3> colour;
  } kGolden[] = {{8, 8, {109, 118, 130}}, {5, 9, {124, 93, 109}},
                 {10, 4, {63, 114, 171}}, {7, 12, {153, 131, 95}},
                 {0, 0, {0, 0, 0}},       {12, 6, {82, 147, 164}}};
  for (const auto& g : kGolden)
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(level(out, image, g.x, g.y, static_cast<std::int64_t>(c)),
                  g.colour[c], 1.5)
          << g.y << " " << g.x << " " << c;
}

TEST(Augment, AQuarterTurnOfASquareMovesEveryPixel) {
  const Image image = pattern(8, 8);
  const auto out = planes(image, {.angle_rad = std::numbers::pi / 2});
  for (std::int64_t y = 0; y < 8; ++y)
    for (std::int64_t x = 0; x < 8; ++x)
      EXPECT_NEAR(level(out, image, x, y), image.row(x)[(7 - y) * 4], 1.5);
}

TEST(Change, TheSameSeedTheSameChange) {
  DataConfig config;
  config.flip = config.flip_vertical = true;
  config.rotate_deg = 20;
  config.brightness = 0.2;
  config.crop_pad_px = 4;
  EXPECT_EQ(draw_change(config, 5), draw_change(config, 5));
  EXPECT_FALSE(draw_change(config, 5) == draw_change(config, 6));
  EXPECT_EQ(draw_change(DataConfig{}, 5), Change{});
}

// 2,000 draws: all in range, both flips about half, every window used.
TEST(Change, StaysInItsRanges) {
  DataConfig config;
  config.flip = true;
  config.rotate_deg = 20;
  config.brightness = 0.2;
  config.crop_pad_px = 2;
  int flips = 0;
  std::array<int, 5> windows = {};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Change change = draw_change(config, seed);
    flips += change.flip;
    ++windows.at(static_cast<std::size_t>(change.shift_x + 2));
    ASSERT_LE(std::abs(change.shift_y), 2);
    ASSERT_LE(std::abs(change.angle_rad), 20 * std::numbers::pi / 180);
    ASSERT_LE(std::abs(change.brightness - 1), 0.2);
    ASSERT_FALSE(change.flip_vertical);
  }
  EXPECT_NEAR(flips, 1000, 110);  // five standard deviations
  EXPECT_THAT(windows,
              Each(::testing::AllOf(::testing::Gt(300), ::testing::Lt(500))));
}

TEST(Normalise, OneNumberIsForAllChannelsAndTwoAreWrong) {
  DataConfig config;
  config.mean = {0.5};
  config.std = {0.25};
  EXPECT_THAT(normalise_of(config).mean, Each(0.5F));
  config.mean = {0.5, 0.5};
  EXPECT_THAT(error_of(Fault::config, [&] { normalise_of(config); }),
              HasSubstr("data.mean: has 2 numbers"));
}

}  // namespace
}  // namespace lockstep
