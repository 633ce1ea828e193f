// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/locate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> kWords = {"digits", "cifar10", "images",
                                               "text", "synthetic"};

// Names a set is known by; the first is where fetch puts it.
std::vector<std::string> names_of(DataKind kind) {
  switch (kind) {
    case DataKind::digits:
      return {"fsdd", "free-spoken-digit-dataset", "digits"};
    case DataKind::cifar10:
      return {"cifar10", "cifar-10-batches-bin"};
    case DataKind::images:
      return {"images"};
    case DataKind::text:
      return {"tinyshakespeare", "text"};
    case DataKind::synthetic:
      return {"synthetic"};
  }
  return {};
}

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Folders of a root that hold folders themselves: what data.path could name.
std::string candidates(const std::vector<Place>& roots) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const Place& root : roots)
    for (const auto& entry : fs::directory_iterator(root.path, ignored))
      if (entry.is_directory(ignored) &&
          (there(entry.path() / "train") || there(entry.path() / "val")))
        names.push_back(entry.path().filename().string());
  return names.empty() ? ""
                       : fmt::format(" (there: {})", fmt::join(names, ", "));
}

[[noreturn]] void not_found(DataKind kind, const std::vector<Place>& roots) {
  std::vector<std::string> searched;
  for (const Place& root : roots) searched.push_back(root.path.string());
  const std::string word = word_of(kind);
  const std::string where =
      searched.empty() ? "LOCKSTEP_DATA is not set and there is no data/"
                       : fmt::format("not in {}", fmt::join(searched, ", "));
  const std::string other =
      kind == DataKind::images
          ? "data.path = FOLDER names any folder of images" + candidates(roots)
          : fmt::format("`lockstep data fetch {}` downloads the original",
                        word);
  throw Error(Fault::data, "data.kind = " + word,
              "there is no such data: " + where,
              fmt::format("{}; `lockstep data make {} data/{}` writes a "
                          "synthetic stand-in",
                          other, word, folder_of(kind)));
}

Place locate_given(const std::string& path, const std::vector<Place>& roots) {
  if (there(path)) return {path, "data.path"};
  if (fs::path(path).is_relative())
    for (const Place& root : roots)
      if (there(root.path / path))
        return {root.path / path, "data.path in " + root.found_by};
  throw Error(Fault::data, "data.path",
              fmt::format("'{}' does not exist", path),
              "`lockstep data list` says what is there");
}

}  // namespace

std::vector<Place> data_roots() {
  std::vector<Place> roots;
  if (const char* named = std::getenv("LOCKSTEP_DATA");
      named != nullptr && *named != '\0') {
    std::error_code ignored;
    if (!fs::is_directory(named, ignored))
      throw Error(Fault::data, "LOCKSTEP_DATA",
                  fmt::format("'{}' is not a folder", named),
                  "unset it, or name the folder that holds the data");
    roots.push_back({named, "LOCKSTEP_DATA"});
  }
  if (there("data")) roots.push_back({"data", "data/"});
  return roots;
}

Place locate_data(DataKind kind, const std::string& path) {
  const std::vector<Place> roots = data_roots();
  if (!path.empty()) return locate_given(path, roots);
  for (const Place& root : roots)
    for (const std::string& name : names_of(kind))
      if (there(root.path / name)) return {root.path / name, root.found_by};
  not_found(kind, roots);
}

std::string folder_of(DataKind kind) { return names_of(kind).front(); }

std::string word_of(DataKind kind) {
  return kWords[static_cast<std::size_t>(kind)];
}

DataKind data_kind_of(const std::string& word) {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (word == kWords[i]) return static_cast<DataKind>(i);
  const std::vector<std::string> words(kWords.begin(), kWords.end());
  const std::string close = nearest(word, words);
  throw Error(
      Fault::config, "KIND", fmt::format("'{}' is no kind of data", word),
      close.empty() ? fmt::format("it may be {}", fmt::join(words, ", "))
                    : fmt::format("did you mean '{}'?", close));
}

}  // namespace lockstep
