// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), as record files of TensorFlow carry it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace lockstep
