// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/mpi_group.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "lockstep/comm/process_engine.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

class MpiGroup final : public Group {
 public:
  MpiGroup(const MpiWire& wire, ProcessEngine& engine)
      : engine_(engine), rank_(wire.rank()), size_(wire.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string backend() const override { return "mpi"; }

  TransferHandle start(const Call& call) override { return engine_.post(call); }
  void wait(const TransferHandle& transfer) override {
    engine_.wait(own(transfer));
  }
  TransferTimes times(const TransferHandle& transfer) override {
    const auto mine = own(transfer);
    check(mine->finished, "times are read after wait()");
    return mine->times;
  }

 private:
  static std::shared_ptr<ProcessTransfer> own(const TransferHandle& transfer) {
    auto mine = std::dynamic_pointer_cast<ProcessTransfer>(transfer);
    check(mine != nullptr, "a transfer belongs to the group that started it");
    return mine;
  }

  ProcessEngine& engine_;
  int rank_, size_;
};

void share_cores(const MpiWire& wire, int threads) {
  at::set_num_threads(
      threads > 0 ? threads : std::max(1, core_count() / wire.local_size()));
}

}  // namespace

void run_mpi_ranks(const RankOptions& options,
                   const std::function<void(Group&)>& body) {
  MpiWire wire;
  share_cores(wire, options.threads);
  ProcessEngine engine(wire, options.deadline_s);
  MpiGroup group(wire, engine);
  try {
    body(group);
    group.run({.op = Collective::barrier});  // nobody leaves while needed
  } catch (const std::exception& error) {
    wire.abandon();  // whatever comes of telling them: never end MPI now
    engine.tell_failure(std::string("failed: ") + error.what());
    throw;
  }
}

}  // namespace lockstep
