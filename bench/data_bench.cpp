// SPDX-License-Identifier: Apache-2.0
// The 224 px image pipeline as a process that runs when told; bench/data.py
// tells it. `data_bench images FOLDER WORKERS BATCH`: for each line on stdin
// one pass over the training images, one JSON line out. `data_bench index N
// DIR`: makes N empty files, indexes them, says time and memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/data/image_index.h"
#include "lockstep/data/loader.h"

namespace {

using namespace lockstep;
namespace fs = std::filesystem;

// What bench/data_torchvision.py asks of torchvision.
DataConfig pipeline(const std::string& folder) {
  DataConfig config;
  config.kind = DataKind::images;
  config.path = folder;
  config.image_px = 224;
  config.flip = true;
  config.rotate_deg = 15;
  config.brightness = 0.2;
  config.mean = {0.485, 0.456, 0.406};
  config.std = {0.229, 0.224, 0.225};
  return config;
}

int images(const std::string& folder, std::int64_t workers,
           std::int64_t batch) {
  ModelConfig model;
  model.kind = ModelKind::resnet50;
  const DataSplit split = open_data(pipeline(folder), model);
  std::int64_t epoch = 0;
  for (std::string line; std::getline(std::cin, line); ++epoch) {
    const double begin_s = now_s();
    const auto seed = static_cast<std::uint64_t>(epoch);
    Loader loader(*split.train,
                  epoch_order(split.train->size(), 1, epoch, true),
                  {.batch = batch, .workers = workers, .seed = {seed}});
    std::int64_t seen = 0;
    while (const auto one = loader.next()) seen += one->samples;
    fmt::print("{{\"images\": {}, \"seconds\": {}}}\n", seen,
               now_s() - begin_s);
    std::fflush(stdout);
  }
  return 0;
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

// Names as ImageNet has them: 1,000 classes, n01440764_10026.JPEG.
int index(std::int64_t files, const fs::path& dir) {
  for (std::int64_t c = 0; c < 1000; ++c)
    fs::create_directories(dir / fmt::format("n{:08}", 1440764 + c * 13));
  for (std::int64_t i = 0; i < files; ++i) {
    const std::int64_t c = 1440764 + i % 1000 * 13;
    std::ofstream(dir / fmt::format("n{:08}", c) /
                  fmt::format("n{:08}_{}.JPEG", c, i / 1000));
  }
  const std::int64_t before_bytes = resident_bytes();
  const double begin_s = now_s();
  const ImageFolder found = index_images(dir);
  const double spent_s = now_s() - begin_s;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"files\": {}, \"seconds\": {:.3f}, \"index_bytes\": {}, "
      "\"grown_bytes\": {}, \"peak_bytes\": {}}}\n",
      found.index.size(), spent_s, found.index.bytes(),
      resident_bytes() - before_bytes, usage.ru_maxrss * 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "images" && argc == 5)
    return images(argv[2], std::atoll(argv[3]), std::atoll(argv[4]));
  if (what == "index" && argc == 4) return index(std::atoll(argv[2]), argv[3]);
  fmt::print(stderr, "data_bench images FOLDER WORKERS BATCH | index N DIR\n");
  return 2;
} catch (const std::exception& e) {
  fmt::print(stderr, "data_bench: {}\n", e.what());
  return 1;
}
