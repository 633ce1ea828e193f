// SPDX-License-Identifier: Apache-2.0
// libpng, called so that its errors become ours; see decode_jpeg.cpp on
// longjmp.
#include <png.h>

#include <cstring>
#include <vector>

#include "lockstep/data/decode.h"

namespace lockstep {
namespace {

struct Source {
  Bytes left;
  char text[128];
};

void on_png_error(png_structp png, png_const_charp message) {
  auto& source = *static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source.text, message, sizeof source.text - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, std::size_t count) {
  auto& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (count > source.left.size()) png_error(png, "the file ends too early");
  std::memcpy(out, source.left.data(), count);
  source.left = source.left.subspan(count);
}

// Whatever the file holds, rows of four bytes a pixel come out.
void ask_for_rgbx(png_structp png) {
  png_set_scale_16(png);
  png_set_expand(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
}

bool run_png(png_structp png, png_infop info, Source& source, Image& image,
             std::vector<png_bytep>& rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &source, on_read);
  png_read_info(png, info);
  const std::int64_t width = png_get_image_width(png, info);
  const std::int64_t height = png_get_image_height(png, info);
  if (width * height > kMaxImagePixels)
    png_error(png, "more pixels than a sample may have");
  ask_for_rgbx(png);
  png_read_update_info(png, info);
  image.resize(width, height);
  rows.resize(static_cast<std::size_t>(height));
  for (std::int64_t y = 0; y < height; ++y)
    rows[static_cast<std::size_t>(y)] = image.row(y);
  png_read_image(png, rows.data());
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

void decode_png(Bytes file, const std::string& name, Image& image) {
  Source source{file, {}};
  std::vector<png_bytep> rows;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source,
                                           on_png_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool good = info != nullptr && run_png(png, info, source, image, rows);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!good)
    broken_image(name, std::string("cannot be decoded: ") + source.text);
}

}  // namespace lockstep
