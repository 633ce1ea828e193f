// SPDX-License-Identifier: Apache-2.0
// One collective among ranks that share memory, cut into chunks: any thread
// may claim the next one. A chunk reads all ranks' buffers, adds in rank order
// and writes the result where it belongs, reduce-scatter and all-gather in one
// pass over memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/comm/device_exchange.h"
#include "lockstep/comm/group.h"
#include "lockstep/comm/layout.h"

namespace lockstep {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // `number` counts the collectives of a group.
  Exchange(int ranks, std::int64_t number);

  // A rank brings its tensors; the exchange keeps them alive. True when it was
  // the last one. Throws Error{Fault::internal} when the ranks' calls differ.
  bool join(int rank, const Call& call);
  bool joined(int rank) const { return joined_[index(rank)]; }
  bool ready() const { return num_joined_ == calls_.size(); }

  std::int64_t number() const { return number_; }
  const Layout& layout() const { return layout_; }

  // Once ready, from any thread: claims chunks and does them until none is
  // left to claim. True for the caller that finished the last one. On a device
  // there are no chunks: the last rank to join hands the whole over.
  bool work();
  bool claimed_out() const { return next_ >= num_chunks_; }
  std::int64_t num_chunks() const { return num_chunks_; }

  bool on_device() const { return device_.has_value(); }
  DeviceExchange& device() { return *device_; }
  std::span<const Call> calls() const { return calls_; }

  double begin_s = 0, end_s = 0;  // of the chunks
  std::atomic<bool> finished = false;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void prepare();
  void do_chunk(std::int64_t begin, std::int64_t end) const;
  void sum(std::int64_t begin, std::int64_t end) const;
  void copy_from_root(std::int64_t begin, std::int64_t end) const;
  void do_share(int rank, std::int64_t begin, std::int64_t end) const;

  const std::int64_t number_;
  std::vector<Call> calls_;
  std::vector<bool> joined_;
  std::size_t num_joined_ = 0;
  Layout layout_;
  std::optional<DeviceExchange> device_;
  std::vector<std::byte*> in_, out_;  // where each rank's buffers begin
  std::int64_t chunk_numel_ = 0, num_chunks_ = 0, width_ = 0;
  std::atomic<std::int64_t> next_ = 0, done_ = 0;
};

}  // namespace lockstep
