// SPDX-License-Identifier: Apache-2.0
// Uses the installed train half: LibTorch and our library in one program.
#include <ATen/Version.h>
#include <lockstep/core/version.h>

#include <cstdio>

int main() {
  const bool loaded =
      at::show_config().find("TORCH_VERSION=") != std::string::npos;
  std::printf("%s %s\n", lockstep::version_text().c_str(),
              loaded ? "with LibTorch" : "without LibTorch");
}
