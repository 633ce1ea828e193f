// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG files to pictures. What the file is, its first bytes say, not
// its name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lockstep/data/image.h"

namespace lockstep {

using Bytes = std::span<const std::uint8_t>;

// Fills `image` from the contents of a file; `name` stands for it in errors.
// JPEG: grey, YCbCr, RGB, CMYK, YCCK, baseline or progressive. It may come out
// smaller by 2, 4 or 8 while both sides stay at least `min_px`; 0: full size.
// PNG: grey, RGB or palette of 1 to 16 bits, transparency dropped, 16 bits
// rounded to 8. Throws Error{Fault::data}, also for a file cut short.
void decode_image(Bytes file, const std::string& name, std::int64_t min_px,
                  Image& image);

void decode_jpeg(Bytes file, const std::string& name, std::int64_t min_px,
                 Image& image);
void decode_png(Bytes file, const std::string& name, Image& image);

// No sane sample is larger; a header that says so is not believed.
inline constexpr std::int64_t kMaxImagePixels = 1 << 28;

[[noreturn]] void broken_image(const std::string& name,
                               const std::string& what);

}  // namespace lockstep
