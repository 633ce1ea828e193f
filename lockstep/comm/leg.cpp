// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/leg.h"

#include <algorithm>
#include <cstring>

#include "lockstep/comm/sum.h"
#include "lockstep/core/error.h"

namespace lockstep {

bool drop_done(MpiWire& wire, std::vector<Pending>& pending) {
  const auto gone = std::ranges::remove_if(
      pending, [&](const Pending& p) { return wire.done(p.request); });
  const bool some = !gone.empty();
  pending.erase(gone.begin(), gone.end());
  return some;
}

Leg::Leg(MpiWire& wire, const Course& course, std::int64_t round, int tag,
         std::vector<std::byte> scratch)
    : wire_(wire),
      course_(course),
      round_(round),
      width_(bytes_of(course.layout.type)),
      mine_(course.rounds.piece(round, wire.rank()).numel()),
      me_(wire.rank()),
      ranks_(wire.size()),
      tag_(tag),
      scratch_(std::move(scratch)) {
  to_owner();
}

bool Leg::advance() {
  bool moved = drop_done(wire_, pending_);
  while (pending_.empty() && step_ <= 1) {
    moved = true;
    ++step_;
    if (step_ != 1) break;
    add_up();
    from_owner();
  }
  return moved;
}

void Leg::to_owner() {
  switch (course_.path.first) {
    case ToOwner::none:
      return;
    case ToOwner::sum:
      return exchange_for_sum();
    case ToOwner::from_root:
      return take_from_root();
  }
}

// Everybody's piece of my share into scratch, a slot a rank; one slot more for
// the sum of a rank that must not touch its tensor.
void Leg::exchange_for_sum() {
  const auto need = static_cast<std::size_t>(mine_ * width_ * (ranks_ + 1));
  if (scratch_.size() < need) scratch_.resize(need);
  for (int r = 0; r < ranks_; ++r) {
    if (r == me_) continue;
    receive(scratch_of(r), mine_, r);
    const Piece piece = course_.rounds.piece(round_, r);
    send(whole(course_.in, piece.begin), piece.numel(), r);
  }
}

void Leg::take_from_root() {
  const int root = course_.layout.root;
  if (me_ != root) return receive(own_place(), mine_, root);
  for (int r = 0; r < ranks_; ++r) {
    const Piece piece = course_.rounds.piece(round_, r);
    std::byte* from = whole(course_.in, piece.begin);
    if (r != me_)
      send(from, piece.numel(), r);
    else if (own_place() != from && mine_ > 0)
      std::memcpy(own_place(), from, static_cast<std::size_t>(mine_ * width_));
  }
}

void Leg::add_up() {
  if (course_.path.first != ToOwner::sum || mine_ == 0) return;
  const Piece piece = course_.rounds.piece(round_, me_);
  std::vector<const std::byte*> from;
  for (int r = 0; r < ranks_; ++r)
    from.push_back(r == me_ ? whole(course_.in, piece.begin) : scratch_of(r));
  std::byte* const to = own_place();
  sum_in_rank_order(course_.layout.type, from, {&to, 1}, mine_);
}

void Leg::from_owner() {
  const FromOwner second = course_.path.second;
  if (second == FromOwner::none) return;
  ++tag_;
  const int root = course_.layout.root;
  const bool to_root = second == FromOwner::to_root;
  const bool root_has_all = course_.layout.op == Collective::broadcast;
  for (int r = 0; r < ranks_; ++r) {
    const Piece piece = course_.rounds.piece(round_, r);
    const bool i_get = to_root ? me_ == root : !(root_has_all && me_ == root);
    const bool he_gets = to_root ? r == root : !(root_has_all && r == root);
    if (r != me_ && i_get)
      receive(whole(course_.out, piece.begin), piece.numel(), r);
    if (r != me_ && he_gets) send(own_place(), mine_, r);
    if (r == me_ && i_get && mine_ > 0 &&
        whole(course_.out, piece.begin) != own_place())
      std::memcpy(whole(course_.out, piece.begin), own_place(),
                  static_cast<std::size_t>(mine_ * width_));
  }
}

std::byte* Leg::whole(std::byte* base, std::int64_t element) const {
  return base == nullptr ? nullptr : base + element * width_;
}

// Where the own piece lies between the two steps.
std::byte* Leg::own_place() const {
  const Piece piece = course_.rounds.piece(round_, me_);
  const std::int64_t within =
      piece.begin - course_.rounds.begin[static_cast<std::size_t>(me_)];
  switch (course_.layout.op) {
    case Collective::reduce_scatter:
    case Collective::scatter:
      return whole(course_.out, within);
    case Collective::all_gather:
    case Collective::gather:
      return whole(course_.in, within);
    case Collective::reduce:
      if (me_ != course_.layout.root)
        return const_cast<std::byte*>(scratch_.data()) +
               mine_ * width_ * ranks_;
      return whole(course_.out, piece.begin);
    default:
      return whole(course_.out, piece.begin);
  }
}

std::byte* Leg::scratch_of(int rank) {
  return scratch_.data() + mine_ * width_ * rank;
}

void Leg::send(const std::byte* data, std::int64_t numel, int to) {
  if (numel > 0)
    pending_.push_back({wire_.send(data, numel * width_, to, tag_), to});
}

void Leg::receive(std::byte* data, std::int64_t numel, int from) {
  if (numel > 0)
    pending_.push_back({wire_.receive(data, numel * width_, from, tag_), from});
}

}  // namespace lockstep
