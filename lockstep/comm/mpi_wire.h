// SPDX-License-Identifier: Apache-2.0
// Nonblocking messages between the processes of an MPI job, and nothing else:
// the collectives are ours. comm/mpi/ holds it, comm/no_mpi/ stands in where
// MPI was not found. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

class MpiWire {
 public:
  // Starts MPI. Error{Fault::config} in a build without it, Error{Fault::peer}
  // when it does not start.
  MpiWire();
  // Ends MPI, unless abandoned: with a lost rank that would wait for ever.
  ~MpiWire();
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  int rank() const;
  int size() const;
  int local_size() const;  // ranks on this host

  // A message under way; its memory must stay until done() says true, once.
  // Messages between two ranks with one tag arrive in the order of sending.
  using Request = std::size_t;
  Request send(const void* data, std::int64_t bytes, int to, int tag);
  Request receive(void* data, std::int64_t bytes, int from, int tag);
  // Moves data along. Throws Error{Fault::peer} when the connection broke.
  bool done(Request request);
  void cancel(Request request);
  void abandon();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether this build has MPI, and which: "Open MPI 4.1.4", or empty.
std::string mpi_version();

}  // namespace lockstep
