// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/study_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lockstep/core/clock.h"
#include "lockstep/core/file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& what,
                       const std::string& hint = {}) {
  throw Error(Fault::store, path.string(), what, hint);
}

int open_or_fail(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0)
    fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  return file;
}

// flock goes with the process: one that was killed holds nothing.
int take_lock(const fs::path& folder) {
  const fs::path path = folder / "lock";
  const int file = open_or_fail(path, O_CREAT | O_RDWR);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 256> text{};
    const auto n = ::pread(file, text.data(), text.size() - 1, 0);
    ::close(file);
    fail(folder,
         fmt::format("another sweep works on it ({})",
                     n > 0 ? std::string(text.data()) : "unknown"),
         "wait for it to end, or stop it");
  }
  const std::string mine =
      fmt::format("process {} on {}", ::getpid(), host_name());
  const bool ok =
      ::ftruncate(file, 0) == 0 &&
      ::pwrite(file, mine.data(), mine.size(), 0) == std::ssize(mine);
  if (!ok) {
    ::close(file);
    fail(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  return file;
}

// A process killed while it wrote leaves half a line: cut it off, so that the
// next event begins a line.
void cut_half_line(const fs::path& ledger) {
  const std::string text = read_file(ledger, Fault::store);
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole == text.size()) return;
  if (::truncate(ledger.c_str(), static_cast<off_t>(whole)) != 0)
    fail(ledger, fmt::format("cannot be mended: {}", std::strerror(errno)));
}

bool free_for_study(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().filename() != "lock") return false;
  return true;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

bool is_study(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "ledger.jsonl", ignored);
}

StudyFolder::StudyFolder(fs::path path) : path_(std::move(path)) {
  lock_ = take_lock(path_);
}

StudyFolder::StudyFolder(StudyFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(other.lock_),
      ledger_(other.ledger_) {
  other.lock_ = other.ledger_ = -1;
}

StudyFolder::~StudyFolder() {
  if (ledger_ >= 0) ::close(ledger_);
  if (lock_ >= 0) ::close(lock_);
}

StudyFolder StudyFolder::create(const fs::path& path,
                                const std::string& study_toml) {
  std::error_code bad;
  fs::create_directories(path, bad);
  if (bad || !fs::is_directory(path))
    fail(path,
         fmt::format("cannot be made: {}",
                     bad ? bad.message() : "a file is in the way"),
         "choose another folder with --out");
  StudyFolder folder(path);
  if (!free_for_study(path))
    fail(path, "is not empty",
         "choose a new folder, or go on with `lockstep sweep --resume " +
             path.string() + "`");
  write_file(folder.recipe(), study_toml);
  folder.ledger_ =
      open_or_fail(path / "ledger.jsonl", O_CREAT | O_WRONLY | O_APPEND);
  return folder;
}

StudyFolder StudyFolder::open(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path / "study.toml", ignored))
    fail(path, "is not a study folder",
         "a study folder holds study.toml and ledger.jsonl");
  StudyFolder folder(path);
  const fs::path ledger = path / "ledger.jsonl";
  // Killed between the two files: nothing was queued yet.
  folder.ledger_ = open_or_fail(ledger, O_CREAT | O_WRONLY | O_APPEND);
  cut_half_line(ledger);
  return folder;
}

void StudyFolder::append(const std::string& event, const Json& fields) {
  Json line = {
      {"event", event}, {"time_utc", utc_now()}, {"host", host_name()}};
  line.update(fields);
  const std::string text =
      line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  // One write, so that a reader never sees lines mixed.
  const auto written = ::write(ledger_, text.data(), text.size());
  if (written != std::ssize(text) || ::fdatasync(ledger_) != 0)
    fail(path_ / "ledger.jsonl",
         fmt::format("cannot be written: {}", std::strerror(errno)),
         "free some space, then `lockstep sweep --resume " + path_.string() +
             "`");
}

}  // namespace lockstep
