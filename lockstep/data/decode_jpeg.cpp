// SPDX-License-Identifier: Apache-2.0
// libjpeg-turbo, called so that its errors become ours. Its C code reports by
// longjmp: nothing with a destructor may be born between setjmp and the jump.
#include <csetjmp>
#include <cstdio>
// After cstdio: the header needs FILE and does not include it.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>

#include "lockstep/data/decode.h"

namespace lockstep {
namespace {

struct DecodeTrouble {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

DecodeTrouble& trouble_of(j_common_ptr info) {
  return *reinterpret_cast<DecodeTrouble*>(info->err);
}

void on_decode_error(j_common_ptr info) {
  DecodeTrouble& trouble = trouble_of(info);
  info->err->format_message(info, trouble.text);
  std::longjmp(trouble.back, 1);
}

// libjpeg fills what is missing with grey and only warns. Data that ends early
// or does not decode is an error to us; odd but harmless bytes are not.
void on_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level == -1 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER ||
                      code == JWRN_HUFF_BAD_CODE))
    on_decode_error(info);
}

// The largest power of two the decoder may shrink by. Others exist (n/8), but
// only these have fast code.
unsigned shrink_of(const jpeg_decompress_struct& info, std::int64_t min_px) {
  const std::int64_t side =
      std::min<std::int64_t>(info.image_width, info.image_height);
  unsigned shrink = 1;
  while (min_px > 0 && shrink < 8 && side / (shrink * 2) >= min_px) shrink *= 2;
  return shrink;
}

bool is_cmyk(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

// In place: four inks become red, green, blue. Adobe's programs write inks
// inverted and say so by their marker.
void cmyk_to_rgb(std::uint8_t* row, std::int64_t width, bool inverted) {
  const std::uint8_t turn = inverted ? 0 : 255;
  for (std::int64_t x = 0; x < width; ++x, row += 4)
    for (int c = 0; c < 3; ++c)
      row[c] = static_cast<std::uint8_t>(
          ((row[c] ^ turn) * (row[3] ^ turn) + 127) / 255);
}

// Everything between setjmp and longjmp: plain data only. False: see `trouble`.
bool run_jpeg(jpeg_decompress_struct& info, DecodeTrouble& trouble, Bytes file,
              std::int64_t min_px, Image& image) {
  if (setjmp(trouble.back) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  if (std::int64_t{info.image_width} * info.image_height > kMaxImagePixels) {
    std::snprintf(trouble.text, sizeof trouble.text,
                  "%u x %u pixels are more than a sample may have",
                  info.image_width, info.image_height);
    return false;
  }
  info.scale_num = 1;
  info.scale_denom = shrink_of(info, min_px);
  info.out_color_space = is_cmyk(info) ? JCS_CMYK : JCS_EXT_RGBX;
  jpeg_start_decompress(&info);
  image.resize(info.output_width, info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image.row(info.output_scanline);
    jpeg_read_scanlines(&info, &row, 1);
    if (is_cmyk(info)) cmyk_to_rgb(row, image.width, info.saw_Adobe_marker);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

void decode_jpeg(Bytes file, const std::string& name, std::int64_t min_px,
                 Image& image) {
  jpeg_decompress_struct info = {};
  DecodeTrouble trouble = {};
  info.err = jpeg_std_error(&trouble.manager);
  trouble.manager.error_exit = on_decode_error;
  trouble.manager.emit_message = on_message;
  const bool good = run_jpeg(info, trouble, file, min_px, image);
  jpeg_destroy_decompress(&info);
  if (!good)
    broken_image(name, std::string("cannot be decoded: ") + trouble.text);
}

}  // namespace lockstep
