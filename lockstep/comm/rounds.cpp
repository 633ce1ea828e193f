// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/rounds.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep {

Path path_of(Collective op) {
  switch (op) {
    case Collective::all_reduce:
    case Collective::barrier:
      return {ToOwner::sum, FromOwner::to_all};
    case Collective::reduce:
      return {ToOwner::sum, FromOwner::to_root};
    case Collective::reduce_scatter:
      return {ToOwner::sum, FromOwner::none};
    case Collective::all_gather:
      return {ToOwner::none, FromOwner::to_all};
    case Collective::broadcast:
      return {ToOwner::from_root, FromOwner::to_all};
    case Collective::gather:
      return {ToOwner::none, FromOwner::to_root};
    case Collective::scatter:
      return {ToOwner::from_root, FromOwner::none};
  }
  check(false, "every collective has a path");
  return {};
}

Piece Rounds::piece(std::int64_t round, int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::int64_t from = begin[r] + round * piece_numel;
  return {std::min(from, begin[r + 1]),
          std::min(from + piece_numel, begin[r + 1])};
}

Rounds rounds_of(const Layout& layout, int ranks, std::int64_t piece_bytes) {
  Rounds out{.begin = layout.begin};
  if (out.begin.empty()) {
    out.begin.push_back(0);
    for (int r = 0; r < ranks; ++r)
      out.begin.push_back(out.begin.back() + share_of(layout.numel, ranks, r));
  }
  std::int64_t largest = 0;
  for (std::size_t r = 0; r + 1 < out.begin.size(); ++r)
    largest = std::max(largest, out.begin[r + 1] - out.begin[r]);
  out.piece_numel =
      std::max<std::int64_t>(1, piece_bytes / bytes_of(layout.type));
  out.num = (largest + out.piece_numel - 1) / out.piece_numel;
  return out;
}

}  // namespace lockstep
