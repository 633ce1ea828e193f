// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/exchange.h"

#include <c10/util/SmallVector.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lockstep/comm/sum.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Long runs through memory are faster (512 KiB against 128: 7 % on a buffer of
// 48 MB), but a small message must still give every rank its share of work.
constexpr std::int64_t kLeastChunkBytes = 128 * 1024,
                       kMostChunkBytes = 512 * 1024;
constexpr std::int64_t kChunksPerRank = 8;

std::int64_t chunk_bytes(std::int64_t bytes, std::size_t ranks) {
  const auto chunks = kChunksPerRank * static_cast<std::int64_t>(ranks);
  return std::clamp(bytes / chunks / kLeastChunkBytes * kLeastChunkBytes,
                    kLeastChunkBytes, kMostChunkBytes);
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (to != from && bytes > 0)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

Exchange::Exchange(int ranks, std::int64_t number)
    : number_(number), calls_(index(ranks)), joined_(index(ranks), false) {}

bool Exchange::join(int rank, const Call& call) {
  check(!joined_[index(rank)], "a rank joins an exchange once");
  const Layout mine = layout_of(call, rank, static_cast<int>(calls_.size()));
  if (num_joined_ == 0) layout_ = mine;
  if (!(mine == layout_))
    throw Error(Fault::internal, fmt::format("rank {}", rank),
                fmt::format("calls {} where another rank calls {}",
                            to_text(mine), to_text(layout_)),
                "every rank must start the same collectives in the same order");
  if (lockstep::on_device(call)) {
    if (!device_) device_.emplace();
    device_->arrive(call);
  }
  calls_[index(rank)] = call;
  joined_[index(rank)] = true;
  ++num_joined_;
  if (ready()) prepare();
  return ready();
}

void Exchange::prepare() {
  if (device_) return;
  width_ = bytes_of(layout_.type);
  for (const Call& call : calls_) {
    const bool in_place = !call.input.defined();
    in_.push_back(data_of(in_place ? call.tensor : call.input));
    out_.push_back(data_of(call.tensor));
  }
  chunk_numel_ = chunk_bytes(layout_.numel * width_, calls_.size()) / width_;
  num_chunks_ = (layout_.numel + chunk_numel_ - 1) / chunk_numel_;
}

bool Exchange::work() {
  bool last = false;
  for (;;) {
    const std::int64_t chunk = next_.fetch_add(1);
    if (chunk >= num_chunks_) return last;
    if (chunk == 0) begin_s = now_s();
    do_chunk(chunk * chunk_numel_,
             std::min((chunk + 1) * chunk_numel_, layout_.numel));
    last = done_.fetch_add(1) + 1 == num_chunks_;
    if (last) end_s = now_s();
  }
}

void Exchange::do_chunk(std::int64_t begin, std::int64_t end) const {
  switch (layout_.op) {
    case Collective::all_reduce:
    case Collective::reduce:
      return sum(begin, end);
    case Collective::broadcast:
      return copy_from_root(begin, end);
    default:
      for (int rank = 0; rank < static_cast<int>(calls_.size()); ++rank) {
        const std::int64_t from = std::max(begin, layout_.begin[index(rank)]);
        const std::int64_t to = std::min(end, layout_.begin[index(rank) + 1]);
        if (from < to) do_share(rank, from, to);
      }
  }
}

void Exchange::sum(std::int64_t begin, std::int64_t end) const {
  c10::SmallVector<const std::byte*, 16> from;
  c10::SmallVector<std::byte*, 16> to;
  for (std::size_t r = 0; r < calls_.size(); ++r) {
    from.push_back(in_[r] + begin * width_);
    if (layout_.op == Collective::all_reduce || r == index(layout_.root))
      to.push_back(out_[r] + begin * width_);
  }
  sum_in_rank_order(layout_.type, {from.data(), from.size()},
                    {to.data(), to.size()}, end - begin);
}

void Exchange::copy_from_root(std::int64_t begin, std::int64_t end) const {
  const std::byte* from = in_[index(layout_.root)] + begin * width_;
  for (std::byte* to : out_)
    copy_bytes(to + begin * width_, from, (end - begin) * width_);
}

// A piece that lies in the share of `rank`.
void Exchange::do_share(int rank, std::int64_t begin, std::int64_t end) const {
  const std::size_t owner = index(rank), root = index(layout_.root);
  const std::int64_t whole = begin * width_, bytes = (end - begin) * width_;
  const std::int64_t own = whole - layout_.begin[owner] * width_;
  switch (layout_.op) {
    case Collective::reduce_scatter: {
      c10::SmallVector<const std::byte*, 16> from;
      for (const std::byte* in : in_) from.push_back(in + whole);
      std::byte* const to = out_[owner] + own;
      return sum_in_rank_order(layout_.type, {from.data(), from.size()},
                               {&to, 1}, end - begin);
    }
    case Collective::all_gather:
      for (std::byte* out : out_)
        copy_bytes(out + whole, in_[owner] + own, bytes);
      return;
    case Collective::scatter:
      return copy_bytes(out_[owner] + own, in_[root] + whole, bytes);
    case Collective::gather:
      return copy_bytes(out_[root] + whole, in_[owner] + own, bytes);
    default:
      check(false, "only these have shares");
  }
}

}  // namespace lockstep
