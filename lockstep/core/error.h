// SPDX-License-Identifier: Apache-2.0
// The one error type. The library throws it; only the CLI turns it into an
// exit code. Nothing below cli/ ends the process.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace lockstep {

// Says who has to act. The CLI gives each its own exit code.
enum class Fault { config, data, device, peer, store, internal };

class Error : public std::runtime_error {
 public:
  // `where` is a name the user can find again ("strategy.bucket_bytes",
  // "rank 3", a path). `hint` is the next thing to try, or empty.
  Error(Fault fault, const std::string& where, const std::string& what,
        std::string hint = {})
      : std::runtime_error(where + ": " + what),
        fault_(fault),
        hint_(std::move(hint)) {}

  Fault fault() const noexcept { return fault_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  Fault fault_;
  std::string hint_;
};

// For our own mistakes, never for a user's: the message names the source line.
inline void check(bool ok, const char* promise,
                  std::source_location at = std::source_location::current()) {
  if (ok) return;
  throw Error(Fault::internal,
              std::string(at.file_name()) + ":" + std::to_string(at.line()),
              std::string("this should hold: ") + promise,
              "this is a mistake in Lockstep; please report it");
}

}  // namespace lockstep
