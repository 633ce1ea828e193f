// SPDX-License-Identifier: Apache-2.0
// Stands in for comm/mpi/mpi_wire.cpp where MPI was not found.
#include "lockstep/comm/mpi_wire.h"

#include "lockstep/core/error.h"

namespace lockstep {

struct MpiWire::State {};

MpiWire::MpiWire() {
  throw Error(Fault::config, "comm.kind", "this build has no MPI",
              "install Open MPI's headers and build again, or use threads");
}
MpiWire::~MpiWire() = default;
int MpiWire::rank() const { return 0; }
int MpiWire::size() const { return 1; }
int MpiWire::local_size() const { return 1; }
MpiWire::Request MpiWire::send(const void*, std::int64_t, int, int) {
  return 0;
}
MpiWire::Request MpiWire::receive(void*, std::int64_t, int, int) { return 0; }
bool MpiWire::done(Request) { return true; }
void MpiWire::cancel(Request) {}
void MpiWire::abandon() {}
std::string mpi_version() { return {}; }

}  // namespace lockstep
