// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace lockstep {
namespace {

[[noreturn]] void fail_write(const std::filesystem::path& path,
                             const std::filesystem::path& part) {
  const int reason = errno;
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  throw Error(Fault::store, path.string(),
              fmt::format("cannot be written: {}", std::strerror(reason)),
              reason == ENOSPC ? "free some space, or choose another folder"
                               : "check the folder and its permissions");
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, Fault fault,
                      std::int64_t max_bytes) {
  std::error_code bad;
  if (std::filesystem::is_directory(path, bad))
    throw Error(fault, path.string(), "is a directory, a file was expected");
  const auto size = std::filesystem::file_size(path, bad);
  if (bad)
    throw Error(fault, path.string(),
                fmt::format("cannot be read: {}", bad.message()));
  if (size > static_cast<std::uintmax_t>(max_bytes))
    throw Error(fault, path.string(),
                fmt::format("has {} bytes, more than the {} such a file may "
                            "have",
                            size, max_bytes));
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size)))
    throw Error(fault, path.string(), "could not be read to its end");
  return text;
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path part = path;
  part += ".part";
  const int file = ::open(part.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file < 0) fail_write(path, part);
  const bool written = write_all(file, text) && ::fsync(file) == 0;
  const int reason = errno;
  if (::close(file) != 0 || !written) {
    if (!written) errno = reason;
    fail_write(path, part);
  }
  if (::rename(part.c_str(), path.c_str()) != 0) fail_write(path, part);
}

}  // namespace lockstep
