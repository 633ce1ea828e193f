// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/encode.h"

#include <sndfile.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
// After cstdio: the header needs FILE and does not include it.
#include <jpeglib.h>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"

namespace lockstep {
namespace {

struct EncodeTrouble {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address
  std::jmp_buf back;
};

void on_encode_error(j_common_ptr info) {
  std::longjmp(reinterpret_cast<EncodeTrouble*>(info->err)->back, 1);
}

// Plain data only between setjmp and longjmp; see decode_jpeg.cpp.
bool compress(jpeg_compress_struct& info, EncodeTrouble& trouble,
              const Image& image, int quality) {
  if (setjmp(trouble.back) != 0) return false;
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 4;
  info.in_color_space = JCS_EXT_RGBX;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

void write_jpeg(const std::filesystem::path& path, const Image& image,
                int quality) {
  jpeg_compress_struct info = {};
  EncodeTrouble trouble = {};
  info.err = jpeg_std_error(&trouble.manager);
  trouble.manager.error_exit = on_encode_error;
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  const bool good = compress(info, trouble, image, quality);
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(bytes, std::free);
  check(good, "a picture in memory can be compressed");
  write_file(path, {reinterpret_cast<const char*>(bytes), size});
}

void write_wav(const std::filesystem::path& path, std::span<const float> sound,
               int rate_hz) {
  SF_INFO info = {};
  info.samplerate = rate_hz;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(
      sf_open(path.c_str(), SFM_WRITE, &info), sf_close);
  std::vector<short> levels(sound.size());
  std::ranges::transform(sound, levels.begin(), [](float v) {
    return static_cast<short>(std::clamp(v, -1.0F, 1.0F) * 32767.0F);
  });
  const auto frames = static_cast<sf_count_t>(levels.size());
  if (!file || sf_writef_short(file.get(), levels.data(), frames) != frames)
    throw Error(Fault::store, path.string(),
                std::string("cannot be written: ") + sf_strerror(file.get()),
                "check the folder, its permissions and the free space");
}

}  // namespace lockstep
