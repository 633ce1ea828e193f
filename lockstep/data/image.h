// SPDX-License-Identifier: Apache-2.0
// A picture in memory, four bytes a pixel: red, green, blue and one that is
// not looked at. Four bytes load as one word; that is what makes resizing and
// turning fast without a line of machine-specific code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // height x width x 4, row after row

  // Keeps the memory when it is large enough.
  void resize(std::int64_t new_width, std::int64_t new_height) {
    width = new_width;
    height = new_height;
    pixels.resize(static_cast<std::size_t>(width * height * 4));
  }
  std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 4; }
  const std::uint8_t* row(std::int64_t y) const {
    return pixels.data() + y * width * 4;
  }
};

}  // namespace lockstep
