// SPDX-License-Identifier: Apache-2.0
// readdir() itself, since std::filesystem builds a path for each entry: a
// million files take seconds less and no memory.
#include "lockstep/data/image_index.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

struct Listing {
  std::vector<std::string> folders, files;  // sorted
};

// What a link or an unknown entry leads to costs a question; others do not.
bool is_folder(const dirent& entry, const fs::path& parent) {
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN)
    return entry.d_type == DT_DIR;
  struct stat info = {};
  return ::stat((parent / entry.d_name).c_str(), &info) == 0 &&
         S_ISDIR(info.st_mode);
}

Listing list_folder(const fs::path& folder) {
  const std::unique_ptr<DIR, CloseDir> dir(opendir(folder.c_str()));
  if (!dir)
    throw Error(Fault::data, folder.string(),
                fmt::format("cannot be listed: {}", std::strerror(errno)),
                "data.path names a folder with one subfolder for each class");
  Listing listing;
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_name[0] == '.') continue;
    (is_folder(*entry, folder) ? listing.folders : listing.files)
        .emplace_back(entry->d_name);
  }
  std::ranges::sort(listing.folders);
  std::ranges::sort(listing.files);
  return listing;
}

bool named_like_image(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot > 5) return false;
  const std::string ending = lower(name.substr(dot));
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// Adds everything below one class's folder.
void add_class(ImageFolder& out, const std::string& below, std::int32_t label) {
  const Listing listing = list_folder(out.root / below);
  for (const std::string& file : listing.files) {
    if (named_like_image(file))
      out.index.add(below + "/" + file, label);
    else
      ++out.ignored;
  }
  for (const std::string& folder : listing.folders)
    add_class(out, below + "/" + folder, label);
}

std::int32_t label_of(const ImageFolder& out, const fs::path& part,
                      const std::string& name) {
  const auto found = std::ranges::lower_bound(out.classes, name);
  if (found == out.classes.end() || *found != name)
    throw Error(Fault::data, (out.root / part / name).string(),
                "is a class that the training part does not have",
                "both parts need the same class folders");
  return static_cast<std::int32_t>(found - out.classes.begin());
}

// Adds the class folders of a part; "" is the root itself.
void add_part(ImageFolder& out, const std::string& part) {
  for (const std::string& name : list_folder(out.root / part).folders) {
    const std::int64_t before = out.index.size();
    const std::string below = part.empty() ? name : part + "/" + name;
    add_class(out, below, label_of(out, part, name));
    if (out.index.size() == before)
      throw Error(Fault::data, (out.root / below).string(),
                  "holds no .jpg, .jpeg or .png file",
                  "each subfolder is a class; remove this one or fill it");
  }
}

}  // namespace

void ImageIndex::add(std::string_view name, std::int32_t label) {
  names_ += name;
  ends_.push_back(names_.size());
  labels_.push_back(label);
}

std::string_view ImageIndex::name(std::int64_t at) const {
  const auto i = static_cast<std::size_t>(at);
  const std::uint64_t begin = i == 0 ? 0 : ends_.at(i - 1);
  return std::string_view(names_).substr(begin, ends_.at(i) - begin);
}

std::int64_t ImageIndex::bytes() const {
  return static_cast<std::int64_t>(names_.capacity() + ends_.capacity() * 8 +
                                   labels_.capacity() * 4);
}

ImageFolder index_images(const fs::path& root) {
  ImageFolder out;
  out.root = root;
  const std::vector<std::string> top = list_folder(root).folders;
  const auto has = [&](const std::string& name) {
    return std::ranges::binary_search(top, name);
  };
  std::string held;
  for (const char* name : {"val", "validation", "test"})
    if (held.empty() && has(name)) held = name;
  if (has("train") && !held.empty()) {
    out.classes = list_folder(root / "train").folders;
    add_part(out, "train");
    out.official_train = out.index.size();
    add_part(out, held);
  } else {
    out.classes = top;
    add_part(out, "");
  }
  if (out.index.size() == 0)
    throw Error(Fault::data, root.string(), "holds no folder of images",
                "it needs one subfolder for each class");
  return out;
}

}  // namespace lockstep
