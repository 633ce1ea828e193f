// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/fetch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/data/child.h"
#include "lockstep/data/locate.h"
#include "lockstep/data/sha256.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Gone with all it holds when the fetch ends, however it ends.
struct WorkFolder {
  explicit WorkFolder(fs::path where) : path(std::move(where)) {
    std::error_code bad;
    fs::create_directories(path, bad);
    if (bad)
      throw Error(Fault::store, path.string(),
                  "cannot be made: " + bad.message(),
                  "choose another folder with --to");
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path path;
};

// What `sha256sum *.wav` prints in the folder, as one sum.
std::string sum_of_folder(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".wav")
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}  {}\n", sha256_of_file(folder / name), name);
  return sha256(text);
}

// What is wrong with the folder; empty: it is the original.
std::string difference(const Original& original, const fs::path& folder) {
  for (const FileSum& file : original.files) {
    if (!fs::exists(folder / file.name)) return file.name + " is missing";
    if (sha256_of_file(folder / file.name) != file.sha256)
      return file.name + " has another checksum";
  }
  if (!original.folder.empty() &&
      sum_of_folder(folder / original.folder) != original.folder_sha256)
    return "the files of " + original.folder + "/ have another checksum";
  return {};
}

std::string by_hand(const Original& original, const fs::path& target) {
  return fmt::format(
      "on a machine with a network, fetch it and put it to {}; "
      "`lockstep data make {} DIR` writes a synthetic stand-in",
      target.string(), word_of(original.kind));
}

void download(const std::string& url, const fs::path& to, const Original& what,
              const fs::path& target,
              const std::function<void(std::int64_t)>& progress) {
  const auto waiting = [&] {
    std::error_code none;
    const auto size = fs::file_size(to, none);
    if (!none) progress(static_cast<std::int64_t>(size));
  };
  ChildResult result = run_child({"curl", "-fsSL", "--connect-timeout", "20",
                                  "-o", to.string(), "--", url},
                                 waiting);
  if (result.code == 127)
    result = run_child(
        {"wget", "-nv", "-T", "20", "-t", "2", "-O", to.string(), "--", url},
        waiting);
  if (result.code == 127)
    throw Error(Fault::data, url, "neither curl nor wget is installed",
                by_hand(what, target));
  if (result.code != 0)
    throw Error(Fault::data, url,
                "could not be downloaded: " + result.complaint,
                by_hand(what, target));
}

void unpack(const fs::path& archive, const fs::path& to) {
  fs::create_directories(to);
  const ChildResult result =
      run_child({"tar", "-xzf", archive.string(), "-C", to.string(),
                 "--strip-components=1", "--no-same-owner"},
                [] {});
  if (result.code != 0)
    throw Error(Fault::data, archive.string(),
                "could not be unpacked: " + result.complaint,
                "the download may be cut short; try again");
}

}  // namespace

fs::path fetch_data(const Original& original, const FetchOptions& options,
                    const std::function<void(std::int64_t)>& progress) {
  const fs::path target = options.root / folder_of(original.kind);
  if (fs::exists(target)) {
    const std::string wrong = difference(original, target);
    if (wrong.empty()) return target;
    throw Error(Fault::data, target.string(),
                "is there but is not the original: " + wrong,
                "move it away, then fetch again");
  }
  const std::string& url = options.url.empty() ? original.url : options.url;
  const WorkFolder work(options.root / fmt::format(".fetch-{}", ::getpid()));
  const fs::path unpacked = work.path / "set";
  if (original.archive) {
    download(url, work.path / "archive", original, target, progress);
    unpack(work.path / "archive", unpacked);
  } else {
    fs::create_directories(unpacked);
    download(url, unpacked / original.files.front().name, original, target,
             progress);
  }
  if (const std::string wrong = difference(original, unpacked); !wrong.empty())
    throw Error(Fault::data, url, "is not the original: " + wrong,
                "nothing was kept; the source may have changed");
  fs::rename(unpacked, target);
  return target;
}

}  // namespace lockstep
