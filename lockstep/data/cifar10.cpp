// SPDX-License-Identifier: Apache-2.0
// CIFAR-10, binary version: data_batch_1 to 5.bin train, test_batch.bin is the
// official test part. A record is a label byte, then 32 x 32 bytes each of
// red, green and blue. The set is small, so it is kept as it lies on disk.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/data/augment.h"
#include "lockstep/data/open.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32, kPlane = kSide * kSide;
constexpr std::size_t kRecord_bytes = 1 + 3 * kPlane;

struct Records {
  std::string bytes;
  std::size_t train = 0;  // records of the data_batch files come first
  std::vector<std::int32_t> labels = {};
};

class Cifar10 final : public Dataset {
 public:
  // Chance changes images only where `config` is given a training part.
  Cifar10(std::shared_ptr<const Records> records, Positions positions,
          const DataConfig& config, bool augment)
      : records_(std::move(records)),
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
    thread_local Image image;  // a worker's own, kept for its next sample
    read_image(index, image, target);
    write_planes(image, augment_ ? draw_change(config_, seed) : Change{},
                 normalise_, static_cast<float*>(input));
  }
  bool read_image(std::int64_t index, Image& image,
                  std::int64_t* target) const override {
    const auto record = static_cast<std::size_t>(
        positions_.at(static_cast<std::size_t>(index)));
    const char* bytes = records_->bytes.data() + record * kRecord_bytes;
    *target = records_->labels[record];
    image.resize(kSide, kSide);
    for (std::size_t i = 0; i < kPlane; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        image.pixels[i * 4 + c] =
            static_cast<std::uint8_t>(bytes[1 + c * kPlane + i]);
    return true;
  }

 private:
  const SampleShape shape_ = {
      .input = {3, kSide, kSide}, .target = {}, .classes = 10};
  const std::shared_ptr<const Records> records_;
  const Positions positions_;
  const DataConfig config_;
  const Normalise normalise_;
  const bool augment_;
};

fs::path find_folder(const fs::path& path) {
  for (const fs::path& folder : {path, path / "cifar-10-batches-bin"})
    if (fs::exists(folder / "data_batch_1.bin") ||
        fs::exists(folder / "test_batch.bin"))
      return folder;
  const bool packed = fs::exists(path / "packed-jxl");
  throw Error(
      Fault::data, path.string(),
      packed ? "holds CIFAR-10 in packed form only"
             : "holds no data_batch_1.bin",
      packed ? fmt::format("unpack it: python3 {} {} data/cifar10 (needs "
                           "djxl, Debian package libjxl-tools)",
                           (path / "unpack.py").string(),
                           (path / "packed-jxl").string())
             : "`lockstep data fetch cifar10` downloads the binary version");
}

// Appends one file; every record is checked, so read() cannot fail later.
void append(const fs::path& path, Records& records) {
  const std::string bytes = read_file(path, Fault::data);
  if (bytes.empty() || bytes.size() % kRecord_bytes != 0)
    throw Error(Fault::data, path.string(),
                fmt::format("has {} bytes, not a multiple of the {} of a "
                            "record: it is cut short or not CIFAR-10",
                            bytes.size(), kRecord_bytes),
                "`lockstep data fetch cifar10` downloads it again");
  for (std::size_t at = 0; at < bytes.size(); at += kRecord_bytes) {
    const auto label = static_cast<std::uint8_t>(bytes[at]);
    if (label > 9)
      throw Error(Fault::data, path.string(),
                  fmt::format("record {} has label {}, CIFAR-10 has 0 to 9",
                              at / kRecord_bytes, label),
                  "`lockstep data fetch cifar10` downloads it again");
    records.labels.push_back(label);
  }
  records.bytes += bytes;
}

Records load_records(const fs::path& folder) {
  Records records;
  for (int i = 1; i <= 5; ++i)
    append(folder / fmt::format("data_batch_{}.bin", i), records);
  records.train = records.labels.size();
  append(folder / "test_batch.bin", records);
  return records;
}

Parts split_records(const Records& records, const DataConfig& config) {
  if (config.split == SplitKind::random)
    return split_by_class(records.labels, config.val_share,
                          static_cast<std::uint64_t>(config.split_seed));
  const std::size_t train =
      config.split == SplitKind::all ? records.labels.size() : records.train;
  Parts parts;
  parts.train.resize(train);
  std::iota(parts.train.begin(), parts.train.end(), 0);
  parts.validation.resize(records.labels.size() - train);
  std::iota(parts.validation.begin(), parts.validation.end(), train);
  return parts;
}

}  // namespace

DataSplit open_cifar10(const DataConfig& config, const Place& place) {
  const fs::path folder = find_folder(place.path);
  const auto records = std::make_shared<const Records>(load_records(folder));
  Parts parts = split_records(*records, config);
  parts.train = limit_evenly(parts.train, records->labels, config.samples);
  DataSplit split;
  split.description = {{"source", "CIFAR-10, binary version"},
                       {"folder", folder.string()},
                       {"images", records->labels.size()}};
  split.train =
      std::make_unique<Cifar10>(records, std::move(parts.train), config, true);
  if (!parts.validation.empty())
    split.validation = std::make_unique<Cifar10>(
        records, std::move(parts.validation), config, false);
  return split;
}

}  // namespace lockstep
