// SPDX-License-Identifier: Apache-2.0
// Files in the formats that are read, made when a test runs.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>
// After cstdio: the header needs FILE and does not include it.
#include <jpeglib.h>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/data/decode.h"
#include "lockstep/data/encode.h"

namespace lockstep {

class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path path;
};

// The error of a call that must fail with that fault.
template <class Call>
std::string error_of(Fault fault, Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), fault) << e.what();
    return std::string(e.what()) + " | " + e.hint();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

inline Bytes as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A JPEG of one colour: `channels` 1 is grey, 4 is CMYK (with Adobe's marker
// inks are stored inverted, as its programs do).
inline std::string plain_jpeg(int width, int height,
                              const std::vector<std::uint8_t>& colour,
                              J_COLOR_SPACE space, bool adobe = true) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = static_cast<int>(colour.size());
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  info.write_Adobe_marker = adobe ? TRUE : FALSE;
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> row;
  for (int x = 0; x < width; ++x)
    row.insert(row.end(), colour.begin(), colour.end());
  JSAMPROW start = row.data();
  for (int y = 0; y < height; ++y) jpeg_write_scanlines(&info, &start, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string text(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return text;
}

// A PNG with these rows, as libpng takes them (16 bits: high byte first).
inline std::string make_png(int width, int bits, int colour_type,
                            const std::vector<std::uint8_t>& row, int height,
                            const std::vector<png_color>& palette = {},
                            int interlace = PNG_INTERLACE_NONE) {
  std::string out;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))
            ->append(reinterpret_cast<char*>(data), count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width),
               static_cast<png_uint_32>(height), bits, colour_type, interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty())
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  png_write_info(png, info);
  std::vector<png_bytep> rows(static_cast<std::size_t>(height),
                              const_cast<png_bytep>(row.data()));
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

}  // namespace lockstep
