// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace lockstep {

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

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), part_(path_) {
  part_ += ".part";
  file_ = ::open(part_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) fail();
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(part_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(file_, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail();
    at += done, bytes -= static_cast<std::size_t>(done);
  }
}

void AtomicFile::commit() {
  if (::fsync(file_) != 0) fail();
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0 || ::rename(part_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(part_.c_str());
    errno = reason;
    fail();
  }
}

void AtomicFile::fail() const {
  const int reason = errno;
  throw Error(Fault::store, path_.string(),
              fmt::format("cannot be written: {}", std::strerror(reason)),
              reason == ENOSPC ? "free some space, or choose another folder"
                               : "check the folder and its permissions");
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace lockstep
