// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/nccl_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "lockstep/comm/mpi_group.h"
#include "lockstep/core/error.h"
#include "lockstep/device/cuda_entry.h"

namespace lockstep {
namespace {

const char* const kWanted = "comm.kind=nccl";

NcclId make_id() {
  NcclId id = {};
  reinterpret_cast<NcclIdEntry*>(cuda_function(kWanted, kNcclIdEntry))(&id);
  return id;
}

void run_rank(const NcclRank& rank, const std::function<void(Group&)>& body) {
  auto* make = reinterpret_cast<NcclGroupEntry*>(
      cuda_function(kWanted, kNcclGroupEntry));
  const std::unique_ptr<Group> group(make(&rank));
  body(*group);
}

// Rank 0's id to every rank, through MPI.
NcclId share_id(Group& mpi) {
  NcclId id = mpi.rank() == 0 ? make_id() : NcclId{};
  static_assert(sizeof(id) % sizeof(std::int64_t) == 0);
  const at::Tensor words =
      at::empty({static_cast<std::int64_t>(sizeof(id) / sizeof(std::int64_t))},
                at::kLong);
  std::memcpy(words.data_ptr(), id.data(), sizeof(id));
  mpi.run({.op = Collective::broadcast, .tensor = words});
  std::memcpy(id.data(), words.const_data_ptr(), sizeof(id));
  return id;
}

// The same through a store in rank 0, which lives as long as the group: others
// may be late.
struct Fetched {
  NcclId id = {};
  c10::intrusive_ptr<c10d::Store> store;
};

Fetched fetch_id(const Launcher& launcher, double deadline_s) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launcher.port);
  // torchrun's agent may hold the port: then it is the server.
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  options.isServer =
      launcher.rank == 0 && !(agent && std::string(agent) == "True");
  options.numWorkers = static_cast<std::size_t>(launcher.size);
  options.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(deadline_s * 1e3));
  try {
    Fetched out{.store = c10::make_intrusive<c10d::TCPStore>(launcher.address,
                                                             options)};
    const std::string key = "lockstep/nccl_id";
    if (launcher.rank == 0) {
      out.id = make_id();
      out.store->set(key,
                     std::vector<std::uint8_t>(out.id.begin(), out.id.end()));
      return out;
    }
    const std::vector<std::uint8_t> got = out.store->get(key);
    check(got.size() == out.id.size(), "rank 0 left a whole id");
    std::memcpy(out.id.data(), got.data(), got.size());
    return out;
  } catch (const c10::Error& e) {
    throw Error(Fault::peer, "rank 0",
                fmt::format("does not answer at {}:{}: {}", launcher.address,
                            launcher.port, e.what_without_backtrace()),
                "MASTER_ADDR and MASTER_PORT come from torchrun");
  }
}

}  // namespace

void run_nccl_ranks(int ranks, int device, const Launcher& launcher,
                    const RankOptions& options,
                    const std::function<void(Group&)>& body) {
  NcclRank rank{.device = device,
                .rank = launcher.rank,
                .size = ranks,
                .deadline_s = options.deadline_s};
  switch (launcher.kind) {
    case LauncherKind::none:
      if (ranks > 1)
        throw Error(Fault::config, "comm.kind",
                    fmt::format("NCCL takes a process and a GPU for each of {} "
                                "ranks, and refuses two on one GPU",
                                ranks),
                    "mpirun -n N lockstep train RECIPE, or comm.kind=threads, "
                    "where ranks may share a GPU");
      rank.id = make_id();
      return run_rank(rank, body);
    case LauncherKind::mpi:
    case LauncherKind::slurm:
      return run_mpi_ranks(options, [&](Group& mpi) {
        rank.id = share_id(mpi);
        run_rank(rank, body);
      });
    case LauncherKind::torchrun: {
      const Fetched fetched = fetch_id(launcher, options.deadline_s);
      rank.id = fetched.id;
      return run_rank(rank, body);
    }
  }
}

}  // namespace lockstep
