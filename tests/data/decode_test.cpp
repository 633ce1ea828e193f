// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/data/fixtures.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// 8 x 8 pixels of (30 x, 30 y, 90), written by Pillow 13.0 (quality 90, no
// subsampling).
constexpr auto kJpeg = std::to_array<std::uint8_t>(
    {0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01,
     0x01, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43,
     0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03, 0x03, 0x03, 0x03, 0x04,
     0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07,
     0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c, 0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d,
     0x0e, 0x12, 0x10, 0x0d, 0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10,
     0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f, 0x17, 0x18, 0x16, 0x14,
     0x18, 0x12, 0x14, 0x15, 0x14, 0xff, 0xdb, 0x00, 0x43, 0x01, 0x03, 0x04,
     0x04, 0x05, 0x04, 0x05, 0x09, 0x05, 0x05, 0x09, 0x14, 0x0d, 0x0b, 0x0d,
     0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
     0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
     0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
     0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
     0x14, 0x14, 0xff, 0xc0, 0x00, 0x11, 0x08, 0x00, 0x08, 0x00, 0x08, 0x03,
     0x01, 0x11, 0x00, 0x02, 0x11, 0x01, 0x03, 0x11, 0x01, 0xff, 0xc4, 0x00,
     0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0xff, 0xc4, 0x00, 0x1a, 0x10,
     0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x08, 0x24, 0x33, 0x42, 0x51, 0xff,
     0xc4, 0x00, 0x15, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x05, 0xff, 0xc4,
     0x00, 0x1a, 0x11, 0x00, 0x02, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x05, 0x22, 0x07,
     0x31, 0x32, 0xff, 0xda, 0x00, 0x0c, 0x03, 0x01, 0x00, 0x02, 0x11, 0x03,
     0x11, 0x00, 0x3f, 0x00, 0x3d, 0x2b, 0x52, 0xf4, 0x2d, 0x32, 0xa2, 0x5c,
     0xbb, 0x76, 0xec, 0x3c, 0x76, 0xf3, 0xc5, 0xcf, 0xff, 0xd9});

std::array<int, 3> pixel(const Image& image, std::int64_t x, std::int64_t y) {
  const std::uint8_t* p = image.row(y) + x * 4;
  return {p[0], p[1], p[2]};
}

// Within `most` levels in each channel.
void expect_colour(const std::array<int, 3>& got,
                   const std::array<int, 3>& wanted, int most) {
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(got[c], wanted[c], most) << "channel " << c;
}

Image decoded(const std::string& file, std::int64_t min_px = 0) {
  Image image;
  decode_image(as_bytes(file), "the file", min_px, image);
  return image;
}

// Values from Pillow 13.0 (libjpeg-turbo 3.1).
TEST(Jpeg, DecodesToPillowsPixels) {
  Image image;
  decode_image(kJpeg, "golden", 0, image);
  ASSERT_EQ(image.width, 8);
  ASSERT_EQ(image.height, 8);
  expect_colour(pixel(image, 0, 0), {0, 0, 88}, 1);
  expect_colour(pixel(image, 7, 0), {208, 1, 91}, 1);
  expect_colour(pixel(image, 0, 7), {1, 209, 89}, 1);
  expect_colour(pixel(image, 7, 7), {210, 211, 92}, 1);
  expect_colour(pixel(image, 4, 3), {117, 91, 90}, 1);
}

TEST(Jpeg, GreyBecomesThreeEqualChannels) {
  expect_colour(pixel(decoded(plain_jpeg(9, 5, {77}, JCS_GRAYSCALE)), 8, 4),
                {77, 77, 77}, 1);
}

// (255 - C)(255 - K) / 255, as Pillow converts.
TEST(Jpeg, CmykIsConvertedAlsoWhereAdobeInvertsIt) {
  const std::array<int, 3> wanted = {164, 123, 82};
  const std::string plain =
      plain_jpeg(8, 8, {50, 102, 153, 51}, JCS_CMYK, false);
  expect_colour(pixel(decoded(plain), 3, 3), wanted, 2);
  const std::string inverted =
      plain_jpeg(8, 8, {205, 153, 102, 204}, JCS_CMYK, true);
  expect_colour(pixel(decoded(inverted), 3, 3), wanted, 2);
}

TEST(Jpeg, ShrinksWhileBothSidesStayLargeEnough) {
  const std::string file = plain_jpeg(500, 900, {10, 200, 30}, JCS_RGB);
  EXPECT_EQ(decoded(file, 0).width, 500);
  EXPECT_EQ(decoded(file, 251).width, 500);
  EXPECT_EQ(decoded(file, 224).width, 250);
  EXPECT_EQ(decoded(file, 224).height, 450);
  EXPECT_EQ(decoded(file, 32).width, 63);  // 500 / 8, rounded up
  expect_colour(pixel(decoded(file, 32), 30, 60), {10, 200, 30}, 2);
}

TEST(Png, EightBitsOfEveryColourType) {
  const std::string grey = make_png(2, 8, PNG_COLOR_TYPE_GRAY, {7, 250}, 3);
  expect_colour(pixel(decoded(grey), 1, 2), {250, 250, 250}, 0);
  const std::string rgb =
      make_png(2, 8, PNG_COLOR_TYPE_RGB, {1, 2, 3, 4, 5, 6}, 3);
  expect_colour(pixel(decoded(rgb), 1, 2), {4, 5, 6}, 0);
  const std::string grey_alpha =
      make_png(1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {9, 100}, 2);
  expect_colour(pixel(decoded(grey_alpha), 0, 1), {9, 9, 9}, 0);
  const std::string palette = make_png(2, 8, PNG_COLOR_TYPE_PALETTE, {1, 0}, 1,
                                       {{10, 20, 30}, {40, 50, 60}});
  expect_colour(pixel(decoded(palette), 0, 0), {40, 50, 60}, 0);
}

TEST(Png, TransparencyIsDroppedNotBlended) {
  const std::string rgba =
      make_png(1, 8, PNG_COLOR_TYPE_RGBA, {100, 150, 200, 0}, 1);
  expect_colour(pixel(decoded(rgba), 0, 0), {100, 150, 200}, 0);
}

// v x 255 / 65535, rounded: 0x80ff = 33023 -> 128.49 -> 128; cutting the low
// byte off would give 128 too, but 0x01ff -> 1.99 -> 2.
TEST(Png, SixteenBitsAreRoundedToEight) {
  const std::string grey =
      make_png(2, 16, PNG_COLOR_TYPE_GRAY, {0x01, 0xff, 0x80, 0xff}, 2);
  expect_colour(pixel(decoded(grey), 0, 1), {2, 2, 2}, 0);
  expect_colour(pixel(decoded(grey), 1, 1), {128, 128, 128}, 0);
  const std::string rgb = make_png(1, 16, PNG_COLOR_TYPE_RGB,
                                   {0xff, 0xff, 0x00, 0x00, 0x40, 0x40}, 1);
  expect_colour(pixel(decoded(rgb), 0, 0), {255, 0, 64}, 0);
}

TEST(Png, OneBitAndInterlacedFilesToo) {
  const std::string bits =
      make_png(8, 1, PNG_COLOR_TYPE_GRAY, {0x80}, 8, {}, PNG_INTERLACE_ADAM7);
  expect_colour(pixel(decoded(bits), 0, 7), {255, 255, 255}, 0);
  expect_colour(pixel(decoded(bits), 1, 7), {0, 0, 0}, 0);
}

TEST(Decode, ABrokenFileNamesItself) {
  const std::string jpeg = plain_jpeg(64, 64, {10, 200, 30}, JCS_RGB);
  const std::string png = make_png(2, 8, PNG_COLOR_TYPE_GRAY, {7, 250}, 3);
  const auto fails = [](const std::string& file) {
    return error_of(Fault::data, [&] { decoded(file); });
  };
  EXPECT_THAT(fails(""), HasSubstr("the file: the file is empty"));
  EXPECT_THAT(fails("hello, world"), HasSubstr("neither a JPEG nor a PNG"));
  EXPECT_THAT(fails(jpeg.substr(0, 20)), HasSubstr("the file: cannot be"));
  EXPECT_THAT(fails(jpeg.substr(0, jpeg.size() - 30)),
              HasSubstr("the file: cannot be decoded: Premature end"));
  EXPECT_THAT(fails(png.substr(0, png.size() - 20)),
              HasSubstr("the file: cannot be decoded"));
  EXPECT_THAT(fails(png.substr(0, 30)), HasSubstr("ends too early"));
  EXPECT_THAT(fails(jpeg.substr(0, 20)), HasSubstr("data.skip_broken"));
}

// Every prefix of a good file is refused or decoded, never read past.
TEST(Decode, NoPrefixOfAFileIsReadPastItsEnd) {
  const std::string jpeg(reinterpret_cast<const char*>(kJpeg.data()),
                         kJpeg.size());
  const std::string png = make_png(2, 16, PNG_COLOR_TYPE_RGB,
                                   {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3);
  for (const std::string& file : {jpeg, png})
    for (std::size_t size = 0; size + 12 < file.size(); ++size) {
      const std::vector<std::uint8_t> exact(
          file.begin(), file.begin() + static_cast<long>(size));
      Image image;
      EXPECT_THROW(decode_image(exact, "prefix", 0, image), Error) << size;
    }
}

TEST(Decode, AHugePictureIsRefusedByItsHeader) {
  std::string jpeg = plain_jpeg(64, 64, {10, 200, 30}, JCS_RGB);
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\xfd';
  EXPECT_THAT(error_of(Fault::data, [&] { decoded(jpeg); }),
              HasSubstr("more than a sample may have"));
}

}  // namespace
}  // namespace lockstep
