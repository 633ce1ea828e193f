// SPDX-License-Identifier: Apache-2.0
// What keeps others out: tokens, and paths that stay below a folder.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/serve/server.h"

namespace lockstep {

namespace fs = std::filesystem;

fs::path file_below(const fs::path& folder, const std::string& asked) {
  if (asked.empty() || asked.find('\0') != asked.npos) return {};
  std::error_code bad;
  const fs::path root = fs::canonical(folder, bad);
  if (bad) return {};
  const fs::path relative(asked);
  if (relative.is_absolute()) return {};
  // Links are followed first, so one that leads out is seen as what it is.
  const fs::path file = fs::canonical(root / relative, bad);
  if (bad || !fs::is_regular_file(file, bad)) return {};
  const auto [end, rest] =
      std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  return end == root.end() ? file : fs::path();
}

bool same_secret(const std::string& a, const std::string& b) {
  unsigned char different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    different = static_cast<unsigned char>(
        different | (a[i] ^ (b.empty() ? '\0' : b[i % b.size()])));
  return different == 0;
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  check(
      getrandom(raw.data(), raw.size(), 0) == static_cast<ssize_t>(raw.size()),
      "the system has random bytes");
  std::string out;
  for (const unsigned char byte : raw) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace lockstep
