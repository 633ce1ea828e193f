// SPDX-License-Identifier: Apache-2.0
// A set of ranks that can talk. Backends: threads (default), MPI, NCCL,
// emulated. Collectives are started and waited for; a transfer knows when it
// was issued, when it began to move and when it ended.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/plan/comm_plan.h"

namespace lockstep {

// Times on now_s()'s clock of this rank. A message begins when the last rank
// has started it, so waiting for a late rank is not part of its duration.
struct TransferTimes {
  double issued_s = 0, begin_s = 0, end_s = 0;
};

// A collective under way. Opaque: each backend keeps its own state in it.
class Transfer {
 public:
  virtual ~Transfer() = default;
};
using TransferHandle = std::shared_ptr<Transfer>;

// One collective as one rank sees it. "Whole" is what all ranks' shares make
// together, in rank order.
//   all_reduce      tensor: this rank's values -> the sum of all
//   reduce          the same at the root; elsewhere it is left alone
//   broadcast       tensor: the root's values -> the same everywhere
//   reduce_scatter  input: whole -> tensor: this rank's share of the sum
//   all_gather      input: this rank's share -> tensor: whole
//   scatter         input: whole, at the root -> tensor: this rank's share
//   gather          input: this rank's share -> tensor: whole, at the root
//   barrier         no tensors
// Tensors are contiguous, fp32, fp16, bf16 or int64. `tensor` may be the own
// share of `input` or the other way round; they may not overlap otherwise.
struct Call {
  Collective op = Collective::all_reduce;
  at::Tensor tensor = {};
  at::Tensor input = {};
  int root = 0;
  // Elements of each rank's share; empty: split evenly, see share_of().
  // scatter and gather need them when the shares differ.
  std::vector<std::int64_t> shares = {};
};

// Every rank calls start() in the same order with the same operation, type and
// sizes. Tensors stay untouched until the wait. Sums are taken in rank order:
// the same ranks give the same bits. 16-bit types are added in fp32 and
// rounded once.
class Group {
 public:
  virtual ~Group() = default;
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string backend() const = 0;  // "threads", "mpi", …
  // Whether this rank's device may record its work while messages go on: not
  // when another thread of the process may use the device meanwhile.
  virtual bool lets_capture() const { return size() == 1; }

  // Returns at once; the transfer goes on beside the caller's computation.
  virtual TransferHandle start(const Call& call) = 0;
  // On the CPU until it is done, on a device until what the caller hands to it
  // next is sure to come after. A lost or failing rank, or the deadline: throws
  // Error{Fault::peer} that names the rank, in every rank that is left.
  virtual void wait(const TransferHandle& transfer) = 0;
  // After wait(). May wait for a device: call it outside of steps.
  virtual TransferTimes times(const TransferHandle& transfer) = 0;

  void run(const Call& call) { wait(start(call)); }
};

}  // namespace lockstep
