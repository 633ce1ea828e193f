// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/decode.h"

#include <algorithm>
#include <array>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr std::array<std::uint8_t, 3> kJpegStart = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> kPngStart = {0x89, 'P',  'N',  'G',
                                                   '\r', '\n', 0x1a, '\n'};

bool starts_with(Bytes file, Bytes start) {
  return file.size() >= start.size() &&
         std::equal(start.begin(), start.end(), file.begin());
}

}  // namespace

void broken_image(const std::string& name, const std::string& what) {
  throw Error(Fault::data, name, what,
              "replace or remove the file; data.skip_broken = true leaves out "
              "such files");
}

void decode_image(Bytes file, const std::string& name, std::int64_t min_px,
                  Image& image) {
  if (file.empty()) broken_image(name, "the file is empty");
  if (starts_with(file, kJpegStart))
    decode_jpeg(file, name, min_px, image);
  else if (starts_with(file, kPngStart))
    decode_png(file, name, image);
  else
    broken_image(name, "is neither a JPEG nor a PNG file");
}

}  // namespace lockstep
