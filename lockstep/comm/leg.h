// SPDX-License-Identifier: Apache-2.0
// One round of one collective between processes, under way: which messages are
// out, what happens when they are in.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lockstep/comm/mpi_wire.h"
#include "lockstep/comm/rounds.h"

namespace lockstep {

// A message under way and whom it concerns.
struct Pending {
  MpiWire::Request request = 0;
  int peer = 0;
};

// Drops what is done. True when something was.
bool drop_done(MpiWire& wire, std::vector<Pending>& pending);

// A collective as its legs see it; it outlives them.
struct Course {
  Layout layout = {};
  Path path = {};
  Rounds rounds = {};
  std::byte* in = nullptr;   // where the rank's input begins
  std::byte* out = nullptr;  // and its tensor
};

class Leg {
 public:
  // `scratch` is memory to work in, taken over and given back by
  // take_scratch(). Two tags, `tag` and the next, are this leg's.
  Leg(MpiWire& wire, const Course& course, std::int64_t round, int tag,
      std::vector<std::byte> scratch);

  // Moves on as far as it can. True when something happened.
  bool advance();
  bool finished() const { return step_ > 1 && pending_.empty(); }
  // Whom it waits for, or -1.
  int waits_for() const { return pending_.empty() ? -1 : pending_[0].peer; }
  std::vector<std::byte> take_scratch() { return std::move(scratch_); }

 private:
  void to_owner();
  void add_up();
  void from_owner();
  void exchange_for_sum();
  void take_from_root();
  void send(const std::byte* data, std::int64_t numel, int to);
  void receive(std::byte* data, std::int64_t numel, int from);
  std::byte* whole(std::byte* base, std::int64_t element) const;
  std::byte* own_place() const;
  std::byte* scratch_of(int rank);

  MpiWire& wire_;
  const Course& course_;
  std::int64_t round_, width_, mine_;  // mine_: elements of the own piece
  int me_, ranks_, tag_, step_ = 0;
  std::vector<std::byte> scratch_;
  std::vector<Pending> pending_;
};

}  // namespace lockstep
