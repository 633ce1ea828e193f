// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/agree.h"

#include <ATen/ops/empty.h>

#include <bit>
#include <limits>

#include "lockstep/core/clock.h"

namespace lockstep {
namespace {

at::Tensor word_of(std::int64_t value) {
  at::Tensor out = at::empty({1}, at::kLong);
  *out.data_ptr<std::int64_t>() = value;
  return out;
}

std::int64_t value_of(const at::Tensor& word) {
  return *word.data_ptr<std::int64_t>();
}

std::int64_t send(Group& group, std::int64_t mine, int root) {
  const at::Tensor word = word_of(mine);
  group.run({.op = Collective::broadcast, .tensor = word, .root = root});
  return value_of(word);
}

// Rank 0's clock as `peer` reads it in one round: 0 tells the peer to go, the
// peer answers, 0 sends the time at which the answer came. Everybody takes
// part, since a group has no messages between two ranks alone.
struct Round {
  double offset_s = 0, trip_s = 0;
};

Round one_round(Group& group, int peer) {
  send(group, 0, 0);
  const double sent_s = now_s();
  send(group, 0, peer);
  const double came_s = now_s();
  const double zero_s = std::bit_cast<double>(
      send(group, std::bit_cast<std::int64_t>(came_s), 0));
  const double back_s = now_s();
  return {.offset_s = zero_s - (sent_s + back_s) / 2,
          .trip_s = back_s - sent_s};
}

}  // namespace

std::int64_t agree(Group& group, std::int64_t mine) {
  return send(group, mine, 0);
}

bool agree(Group& group, bool mine) {
  return agree(group, std::int64_t{mine}) != 0;
}

double agree(Group& group, double mine) {
  return std::bit_cast<double>(agree(group, std::bit_cast<std::int64_t>(mine)));
}

bool any_of(Group& group, bool mine) {
  const at::Tensor word = word_of(mine ? 1 : 0);
  group.run({.op = Collective::all_reduce, .tensor = word});
  return value_of(word) != 0;
}

ClockOffset align_clocks(Group& group, int rounds) {
  if (group.size() == 1 || group.backend() != "mpi")
    return {};  // one process, one clock
  ClockOffset out{.error_s = std::numeric_limits<double>::infinity()};
  for (int peer = 1; peer < group.size(); ++peer)
    for (int i = 0; i < rounds; ++i) {
      const Round round = one_round(group, peer);
      if (peer != group.rank() || round.trip_s / 2 >= out.error_s) continue;
      out = {.offset_s = round.offset_s, .error_s = round.trip_s / 2};
    }
  return group.rank() == 0 ? ClockOffset{} : out;
}

}  // namespace lockstep
