// SPDX-License-Identifier: Apache-2.0
// A set of ranks that can talk. Backends: threads (default), MPI, NCCL,
// emulated. Collectives are started and waited for; a transfer knows when it
// was issued, when it began to move and when it ended.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "lockstep/plan/comm_plan.h"

namespace lockstep {

// Times on now_s()'s clock of this rank.
struct TransferTimes {
  double issued_s = 0, begin_s = 0, end_s = 0;
};

// A collective under way. Opaque: each backend keeps its own state in it.
class Transfer;
using TransferHandle = std::shared_ptr<Transfer>;

// Every rank calls start() in the same order with the same operation, type and
// sizes. Sums are always taken in rank order, so the result is the same to the
// bit for the same ranks. Tensors are contiguous and stay alive and untouched
// until the wait.
struct Call {
  Collective op = Collective::all_reduce;
  // all_reduce, broadcast: in place in `tensor`. reduce: in place at the root.
  // reduce_scatter, scatter, gather, all_gather: `input` -> `tensor`.
  at::Tensor tensor;
  at::Tensor input = {};
  int root = 0;
};

class Group {
 public:
  virtual ~Group() = default;
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string backend() const = 0;  // "threads", "mpi", …

  // Returns at once; the transfer goes on beside the caller's computation.
  virtual TransferHandle start(const Call& call) = 0;
  // Until it is done. A lost or failing rank, or the deadline: throws
  // Error{Fault::peer} that names the rank, in every rank that is left.
  virtual TransferTimes wait(const TransferHandle& transfer) = 0;

  TransferTimes run(const Call& call) { return wait(start(call)); }
};

}  // namespace lockstep
