// SPDX-License-Identifier: Apache-2.0
// Another program run to its end: no shell, its complaints kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep {

struct ChildResult {
  int code = 0;           // 127: there is no such program
  std::string complaint;  // the last line it wrote to stderr
};

// `waiting` is called some times a second until the program ends.
ChildResult run_child(const std::vector<std::string>& command,
                      const std::function<void()>& waiting);

}  // namespace lockstep
