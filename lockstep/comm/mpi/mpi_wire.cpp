// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/mpi_wire.h"

#define OMPI_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <vector>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

void expect(int code, const std::string& where) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(Fault::peer, where, fmt::format("MPI says: {}", text));
}

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

}  // namespace

struct MpiWire::State {
  int rank = 0, size = 1, local_size = 1;
  bool abandoned = false;
  MPI_Comm world = MPI_COMM_NULL;  // ours alone: no tag of the user's
  std::vector<MPI_Request> requests;
  std::vector<int> peers;
  std::vector<std::size_t> free;

  std::size_t slot(int peer) {
    if (free.empty()) {
      free.push_back(requests.size());
      requests.push_back(MPI_REQUEST_NULL);
      peers.push_back(0);
    }
    const std::size_t out = free.back();
    free.pop_back();
    peers[out] = peer;
    return out;
  }
};

MpiWire::MpiWire() : state_(std::make_unique<State>()) {
  int begun = 0, level = 0;
  MPI_Initialized(&begun);
  if (begun == 0)
    expect(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level),
           "MPI");
  else
    MPI_Query_thread(&level);
  if (level < MPI_THREAD_SERIALIZED)
    throw Error(Fault::config, "MPI", "it allows one thread only",
                "build or choose an MPI with thread support");
  State& s = *state_;
  expect(MPI_Comm_dup(MPI_COMM_WORLD, &s.world), "MPI");
  MPI_Comm_set_errhandler(s.world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(s.world, &s.rank);
  MPI_Comm_size(s.world, &s.size);
  MPI_Comm host = MPI_COMM_NULL;
  expect(MPI_Comm_split_type(s.world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                             &host),
         "MPI");
  MPI_Comm_size(host, &s.local_size);
  MPI_Comm_free(&host);
}

MpiWire::~MpiWire() {
  if (state_->abandoned) return;
  MPI_Comm_free(&state_->world);
  MPI_Finalize();
}

int MpiWire::rank() const { return state_->rank; }
int MpiWire::size() const { return state_->size; }
int MpiWire::local_size() const { return state_->local_size; }
void MpiWire::abandon() { state_->abandoned = true; }

MpiWire::Request MpiWire::send(const void* data, std::int64_t bytes, int to,
                               int tag) {
  const std::size_t slot = state_->slot(to);
  expect(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag,
                   state_->world, &state_->requests[slot]),
         rank_name(to));
  return slot;
}

MpiWire::Request MpiWire::receive(void* data, std::int64_t bytes, int from,
                                  int tag) {
  const std::size_t slot = state_->slot(from);
  expect(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag,
                   state_->world, &state_->requests[slot]),
         rank_name(from));
  return slot;
}

bool MpiWire::done(Request request) {
  int flag = 0;
  expect(MPI_Test(&state_->requests[request], &flag, MPI_STATUS_IGNORE),
         rank_name(state_->peers[request]));
  if (flag != 0) state_->free.push_back(request);
  return flag != 0;
}

void MpiWire::cancel(Request request) {
  MPI_Cancel(&state_->requests[request]);
  MPI_Wait(&state_->requests[request], MPI_STATUS_IGNORE);
  state_->free.push_back(request);
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace lockstep
