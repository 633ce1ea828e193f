// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/survey.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/data/check.h"
#include "lockstep/data/image_index.h"
#include "lockstep/data/make.h"
#include "lockstep/data/open.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

void add_file(FoundSet& set, const fs::path& file) {
  std::error_code bad;
  const auto size = fs::file_size(file, bad);
  if (bad) return;
  ++set.files;
  set.bytes += static_cast<std::int64_t>(size);
}

void count_ending(FoundSet& set, const fs::path& folder,
                  const std::string& ending) {
  std::error_code bad;
  for (const auto& entry : fs::directory_iterator(folder, bad))
    if (entry.path().extension() == ending) add_file(set, entry.path());
}

void count_images(FoundSet& set) {
  const ImageFolder folder = index_images(set.path);
  for (std::int64_t i = 0; i < folder.index.size(); ++i)
    add_file(set, folder.root / folder.index.name(i));
}

void count_files(FoundSet& set) {
  if (set.kind == DataKind::digits) {
    count_ending(set, set.path, ".wav");
    count_ending(set, set.path / "recordings", ".wav");
  } else if (set.kind == DataKind::cifar10) {
    count_ending(set, set.path, ".bin");
    count_ending(set, set.path / "cifar-10-batches-bin", ".bin");
  } else if (set.kind == DataKind::text) {
    count_ending(set, set.path, ".txt");
  } else {
    count_images(set);
  }
}

FoundSet look_at(DataKind kind, const Place& place) {
  FoundSet set{.kind = kind,
               .path = place.path,
               .found_by = place.found_by,
               .state = is_stand_in(place.path) ? "stand-in" : "ready"};
  try {
    count_files(set);
  } catch (const Error& e) {
    set.state = e.what();
  }
  if (set.files == 0 && set.state == "ready")
    set.state = fs::exists(set.path / "packed-jxl")
                    ? "packed: see the hint of `lockstep data check cifar10`"
                    : "no files of this kind";
  return set;
}

// A folder whose subfolders hold images, or train/ and val/ of such.
bool looks_like_images(const fs::path& folder) {
  std::error_code bad;
  const bool parts = fs::is_directory(folder / "train", bad);
  for (const auto& entry :
       fs::directory_iterator(parts ? folder / "train" : folder, bad)) {
    if (!entry.is_directory(bad)) continue;
    for (const auto& file : fs::directory_iterator(entry.path(), bad)) {
      const fs::path ending = file.path().extension();
      return ending == ".jpg" || ending == ".jpeg" || ending == ".png" ||
             ending == ".JPG" || ending == ".JPEG" || ending == ".PNG";
    }
  }
  return false;
}

DataSplit open_found(const DataConfig& config, const Place& place) {
  ModelConfig bytes;
  bytes.context = 1;
  switch (config.kind) {
    case DataKind::digits:
      return open_digits(config, place);
    case DataKind::cifar10:
      return open_cifar10(config, place);
    case DataKind::images:
      return open_images(config, place);
    case DataKind::text:
      return open_text(config, bytes, place);
    case DataKind::synthetic:
      break;
  }
  throw Error(Fault::config, "KIND", "synthetic data has no files to check");
}

}  // namespace

std::vector<FoundSet> survey_data() {
  std::vector<FoundSet> sets;
  for (const DataKind kind :
       {DataKind::digits, DataKind::cifar10, DataKind::text})
    try {
      sets.push_back(look_at(kind, locate_data(kind, "")));
    } catch (const Error&) {
      FoundSet none;
      none.kind = kind;
      none.state = "not there";
      sets.push_back(none);
    }
  for (const Place& root : data_roots()) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(root.path))
      if (entry.is_directory()) folders.push_back(entry.path());
    std::ranges::sort(folders);
    for (const fs::path& folder : folders)
      if (looks_like_images(folder))
        sets.push_back(look_at(DataKind::images, {folder, root.found_by}));
  }
  return sets;
}

CheckedSet check_set(
    DataKind kind, const std::string& path, std::int64_t workers,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  config.split = SplitKind::all;
  config.skip_broken = kind == DataKind::digits;  // decoded while opening
  const DataSplit split = open_found(config, locate_data(kind, path));
  CheckedSet result{.samples = split.train->size(), .broken = {}};
  if (config.skip_broken)
    for (const Json& file : split.description["left_out"])
      result.broken.push_back(file["reason"]);
  result.samples += std::ssize(result.broken);
  for (const BrokenSample& sample : check_samples(
           *split.train, workers,
           [&](std::int64_t done) { progress(done, split.train->size()); }))
    result.broken.push_back(sample.what);
  return result;
}

}  // namespace lockstep
