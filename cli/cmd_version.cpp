// SPDX-License-Identifier: Apache-2.0
// lockstep version: what this binary is.
#include <memory>

#include "cli/commands.h"
#include "cli/torch_version.h"
#include "lockstep/core/version.h"

namespace lockstep::cli {

std::function<int()> version(Options& options) {
  auto format = std::make_shared<Format>(Format::text);
  options.format(*format);
  return [format] {
    Table table{.verb = "version",
                .columns = {{.name = "part"}, {.name = "version"}}};
    for (const auto& [part, text] : versions()) table.add({part, text});
    const std::string torch = loaded_torch_version();
    table.add({std::string("libtorch"),
               torch.empty() ? std::string("none (study build)") : torch});
    print(table, *format);
    return 0;
  };
}

}  // namespace lockstep::cli
