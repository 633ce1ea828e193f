// SPDX-License-Identifier: Apache-2.0
// Rows of plain numbers from every rank to rank 0: measurements, results.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep {

// Collective. Each rank's bytes at rank 0, in rank order; nothing elsewhere.
// A multiple of 8 bytes.
std::vector<std::vector<std::byte>> gather_bytes(
    Group& group, std::span<const std::byte> mine);

// Collective. All ranks' rows at rank 0, rank by rank; nothing elsewhere.
template <class Row>
std::vector<Row> gather_rows(Group& group, std::span<const Row> mine) {
  static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % 8 == 0);
  std::vector<Row> out;
  for (const auto& bytes : gather_bytes(group, std::as_bytes(mine))) {
    const std::size_t first = out.size();
    out.resize(first + bytes.size() / sizeof(Row));
    if (!bytes.empty())
      std::memcpy(static_cast<void*>(out.data() + first), bytes.data(),
                  bytes.size());
  }
  return out;
}

}  // namespace lockstep
