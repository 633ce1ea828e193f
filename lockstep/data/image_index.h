// SPDX-License-Identifier: Apache-2.0
// The files of a folder of images, found fast and held small: a million names
// in one block of text, nothing opened. Classes are the subfolders, by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

class ImageIndex {
 public:
  // `name` is relative to the folder: "train/roses/17.jpg". Cheap.
  void add(std::string_view name, std::int32_t label);

  std::int64_t size() const {
    return static_cast<std::int64_t>(labels_.size());
  }
  std::string_view name(std::int64_t at) const;
  const std::vector<std::int32_t>& labels() const { return labels_; }
  std::int64_t bytes() const;  // memory it holds

 private:
  std::string names_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::int32_t> labels_;
};

struct ImageFolder {
  std::filesystem::path root;
  std::vector<std::string> classes;
  ImageIndex index;
  std::int64_t official_train = 0;  // files of train/ come first; 0: no parts
  std::int64_t ignored = 0;         // files that are not named like an image
};

// Walks the folder: CLASS/…/FILE, or train/CLASS/… and val/CLASS/… (also
// validation/ or test/ for val/). Files end in .jpg, .jpeg or .png, in any
// case; names that begin with a dot are passed over. Sorted by class and name,
// so the order is the same on every machine. Throws Error{Fault::data}.
ImageFolder index_images(const std::filesystem::path& root);

}  // namespace lockstep
