// SPDX-License-Identifier: Apache-2.0
// Who holds which elements in one collective. Every backend starts from this,
// so all of them accept and refuse the same calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep {

struct Layout {
  Collective op = Collective::barrier;
  WireType type = WireType::fp32;
  int root = 0;
  std::int64_t numel = 0;  // of the whole
  // Where each rank's share begins, and the end: ranks + 1 numbers. Empty for
  // collectives without shares.
  std::vector<std::int64_t> begin = {};
  bool operator==(const Layout&) const = default;

  std::int64_t share(int rank) const;
  std::int64_t bytes() const;  // of the whole
};

// Checks the call and works out its layout. Throws Error{Fault::internal} when
// a tensor is missing, not contiguous, of another type or of the wrong size.
Layout layout_of(const Call& call, int rank, int ranks);

// Where the tensor begins; null for one that a call leaves out.
std::byte* data_of(const at::Tensor& tensor);

// "all_reduce of 12102220 fp32", for errors.
std::string to_text(const Layout& layout);

}  // namespace lockstep
