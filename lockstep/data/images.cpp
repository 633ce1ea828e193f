// SPDX-License-Identifier: Apache-2.0
// A folder of images as a dataset: read, decode, resize, augment, normalise,
// all in read(), in the thread that asks.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/data/augment.h"
#include "lockstep/data/check.h"
#include "lockstep/data/decode.h"
#include "lockstep/data/image_index.h"
#include "lockstep/data/open.h"
#include "lockstep/data/resize.h"

namespace lockstep {
namespace {

// What a thread needs for a sample, kept for its next one.
struct Scratch {
  std::vector<std::uint8_t> file;
  Image decoded;
};

void read_whole(const std::string& name, std::vector<std::uint8_t>& out) {
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  bool good = file >= 0 && ::fstat(file, &info) == 0;
  if (good) {
    out.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (good && done < out.size()) {
      const ssize_t got = ::read(file, out.data() + done, out.size() - done);
      good = got > 0 || (got < 0 && errno == EINTR);
      if (got > 0) done += static_cast<std::size_t>(got);
    }
  }
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!good)
    broken_image(name,
                 fmt::format("cannot be read: {}", std::strerror(reason)));
}

class Images final : public Dataset {
 public:
  Images(std::shared_ptr<const ImageFolder> folder, Positions positions,
         const DataConfig& config, bool augment)
      : shape_{.input = {3, config.image_px, config.image_px},
               .target = {},
               .classes = static_cast<std::int64_t>(folder->classes.size())},
        folder_(std::move(folder)),
        positions_(std::move(positions)),
        config_(config),
        normalise_(normalise_of(config)),
        augment_(augment) {}

  std::int64_t size() const override {
    return static_cast<std::int64_t>(positions_.size());
  }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t seed, void* input,
            std::int64_t* target) const override {
    thread_local Image image;
    read_image(index, image, target);
    write_planes(image, augment_ ? draw_change(config_, seed) : Change{},
                 normalise_, static_cast<float*>(input));
  }
  bool read_image(std::int64_t index, Image& image,
                  std::int64_t* target) const override {
    const std::int64_t at = positions_.at(static_cast<std::size_t>(index));
    std::string name = folder_->root.string();
    name.append("/").append(folder_->index.name(at));
    thread_local Scratch scratch;
    read_whole(name, scratch.file);
    const std::int64_t px = config_.image_px;
    decode_image(scratch.file, name, px, scratch.decoded);
    resize_image(scratch.decoded, px, px, image);
    *target = folder_->index.labels()[static_cast<std::size_t>(at)];
    return true;
  }

 private:
  const SampleShape shape_;
  const std::shared_ptr<const ImageFolder> folder_;
  const Positions positions_;
  const DataConfig config_;
  const Normalise normalise_;
  const bool augment_;
};

// Everything that is not `broken`, in its part.
Parts split_images(const ImageFolder& folder, const DataConfig& config) {
  const std::vector<std::int32_t>& labels = folder.index.labels();
  if (config.split == SplitKind::random)
    return split_by_class(labels, config.val_share,
                          static_cast<std::uint64_t>(config.split_seed));
  std::int64_t train = folder.index.size();
  if (config.split == SplitKind::official) {
    if (folder.official_train == 0)
      throw Error(Fault::data, folder.root.string(),
                  "has no train/ and val/ folders, so no official split",
                  "data.split = \"random\" holds back data.val_share of each "
                  "class");
    train = folder.official_train;
  }
  Parts parts;
  parts.train.resize(static_cast<std::size_t>(train));
  std::iota(parts.train.begin(), parts.train.end(), 0);
  parts.validation.resize(
      static_cast<std::size_t>(folder.index.size() - train));
  std::iota(parts.validation.begin(), parts.validation.end(), train);
  return parts;
}

// Decodes every file once and takes out those that fail.
std::vector<LeftOut> leave_out_broken(
    const std::shared_ptr<const ImageFolder>& folder, const DataConfig& config,
    Parts& parts) {
  Positions all(static_cast<std::size_t>(folder->index.size()));
  std::iota(all.begin(), all.end(), 0);
  const Images whole(folder, std::move(all), config, false);
  std::vector<LeftOut> files;
  std::vector<bool> bad(static_cast<std::size_t>(whole.size()));
  for (const BrokenSample& sample :
       check_samples(whole, config.workers, [](std::int64_t) {})) {
    files.push_back(
        {std::string(folder->index.name(sample.index)), sample.what});
    bad[static_cast<std::size_t>(sample.index)] = true;
  }
  for (Positions* part : {&parts.train, &parts.validation})
    std::erase_if(*part, [&](std::int64_t at) {
      return bad[static_cast<std::size_t>(at)];
    });
  return files;
}

}  // namespace

DataSplit open_images(const DataConfig& config, const Place& place) {
  const auto folder =
      std::make_shared<const ImageFolder>(index_images(place.path));
  Parts parts = split_images(*folder, config);
  std::vector<LeftOut> left_out;
  if (config.skip_broken) left_out = leave_out_broken(folder, config, parts);
  parts.train =
      limit_evenly(parts.train, folder->index.labels(), config.samples);
  DataSplit split;
  split.description = {
      {"source", "folder of images"},     {"folder", place.path.string()},
      {"images", folder->index.size()},   {"classes", folder->classes},
      {"files_ignored", folder->ignored}, {"left_out", to_json(left_out)}};
  split.train =
      std::make_unique<Images>(folder, std::move(parts.train), config, true);
  if (!parts.validation.empty())
    split.validation = std::make_unique<Images>(
        folder, std::move(parts.validation), config, false);
  return split;
}

}  // namespace lockstep
