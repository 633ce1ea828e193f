// SPDX-License-Identifier: Apache-2.0
// How a collective goes between processes: every rank owns a share; pieces go
// to their owner, who adds them in rank order, and from the owner to whoever
// needs them. Pure arithmetic on a layout.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/comm/layout.h"

namespace lockstep {

// First step: nothing, every rank's piece to its owner (who sums), or the
// root's. Second: nothing, the owner's piece to all, or to the root.
enum class ToOwner { none, sum, from_root };
enum class FromOwner { none, to_all, to_root };

struct Path {
  ToOwner first = ToOwner::none;
  FromOwner second = FromOwner::none;
};
Path path_of(Collective op);

// Elements [begin, end) of the whole.
struct Piece {
  std::int64_t begin = 0, end = 0;
  std::int64_t numel() const { return end - begin; }
};

// A layout with a share for every rank, also where the call had none, cut into
// rounds: round i moves the i-th piece of every share.
struct Rounds {
  std::vector<std::int64_t> begin;  // of the shares, and the end
  std::int64_t piece_numel = 1, num = 0;

  Piece piece(std::int64_t round, int rank) const;
};
Rounds rounds_of(const Layout& layout, int ranks, std::int64_t piece_bytes);

}  // namespace lockstep
