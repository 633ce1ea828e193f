// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/core/json.h"
#include "lockstep/data/encode.h"
#include "lockstep/data/locate.h"
#include "lockstep/data/random.h"
#include "lockstep/data/waves.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "SYNTHETIC.json";
constexpr std::int64_t kCifarSide = 32;

std::uint64_t seed_of(const MakeOptions& options, std::int64_t part) {
  return mix_seed(static_cast<std::uint64_t>(options.seed),
                  static_cast<std::uint64_t>(part));
}

// The fewest that leave something to train and something to hold back.
void check_enough(DataKind kind, const MakeOptions& options) {
  const std::int64_t fewest = kind == DataKind::digits    ? 60
                              : kind == DataKind::cifar10 ? 6
                              : kind == DataKind::images  ? 5 * options.classes
                                                          : 1;
  if (options.samples < fewest)
    throw Error(Fault::config, "--samples",
                fmt::format("{} are too few for {} with a test part",
                            options.samples, word_of(kind)),
                fmt::format("at least {}", fewest));
}

void begin_folder(const fs::path& folder) {
  std::error_code bad;
  fs::create_directories(folder, bad);
  if (bad)
    throw Error(Fault::store, folder.string(),
                "cannot be made: " + bad.message(), "choose another folder");
  if (!fs::is_empty(folder, bad))
    throw Error(Fault::store, folder.string(), "is not empty",
                "choose a new folder, or empty it");
}

// Two tones a digit, as on a telephone's keys, under noise.
std::vector<float> spoken(std::int64_t digit, std::uint64_t seed) {
  Random random(seed);
  const double length = 3000 + 6000 * random.unit();
  const double loud = 0.2 + 0.6 * random.unit();
  const std::int64_t row = digit / 3;
  const double low = 300 + 60 * static_cast<double>(row);
  const double high = 900 + 150 * static_cast<double>(digit % 3) +
                      40 * static_cast<double>(digit);
  std::vector<float> sound =
      normal_values(static_cast<std::size_t>(length), random.next());
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / 8000;
    sound[i] = static_cast<float>(
        loud * (0.4 * std::sin(low * t) + 0.4 * std::sin(high * t) +
                0.05 * static_cast<double>(sound[i])));
  }
  return sound;
}

void make_digits(const fs::path& folder, const MakeOptions& options) {
  fs::create_directories(folder / "recordings");
  for (std::int64_t i = 0; i < options.samples; ++i)
    write_wav(folder / "recordings" /
                  fmt::format("{}_synthetic_{}.wav", i % 10, i / 10),
              spoken(i % 10, seed_of(options, i)), 8000);
}

// Levels of a picture: its class's waves, dimmed, plus noise, around grey.
Image picture(std::int64_t width, std::int64_t height, std::uint64_t class_seed,
              std::uint64_t seed) {
  const std::vector<float> waves = class_waves({3, height, width}, class_seed);
  const std::vector<float> noise = normal_values(waves.size(), seed);
  Image image;
  image.resize(width, height);
  const auto plane = static_cast<std::size_t>(width * height);
  for (std::size_t i = 0; i < waves.size(); ++i)
    image.pixels[i % plane * 4 + i / plane] = static_cast<std::uint8_t>(
        std::clamp(128 + 40 * waves[i] + 12 * noise[i], 0.0F, 255.0F));
  return image;
}

void make_cifar10(const fs::path& folder, const MakeOptions& options) {
  constexpr std::array<const char*, 6> kFiles = {"data_batch_1", "data_batch_2",
                                                 "data_batch_3", "data_batch_4",
                                                 "data_batch_5", "test_batch"};
  const std::int64_t per_file =
      (options.samples + std::ssize(kFiles) - 1) / std::ssize(kFiles);
  std::int64_t number = 0;
  for (const char* name : kFiles) {
    std::string bytes;
    for (std::int64_t i = 0; i < per_file; ++i, ++number) {
      const std::int64_t label = number % 10;
      const Image image =
          picture(kCifarSide, kCifarSide, seed_of(options, -1 - label),
                  seed_of(options, number));
      bytes += static_cast<char>(label);
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t at = c; at < image.pixels.size(); at += 4)
          bytes += static_cast<char>(image.pixels[at]);
    }
    write_file(folder / fmt::format("{}.bin", name), bytes);
  }
}

// One in five is held back. Widths differ, as those of real photographs do.
void make_images(const fs::path& folder, const MakeOptions& options) {
  for (std::int64_t i = 0; i < options.samples; ++i) {
    const std::int64_t label = i % options.classes;
    const bool held = i / options.classes % 5 == 4;
    const fs::path place =
        folder / (held ? "val" : "train") / fmt::format("class_{:04}", label);
    fs::create_directories(place);
    Random random(seed_of(options, i));
    const auto width =
        options.px + static_cast<std::int64_t>(
                         random.below(static_cast<std::uint64_t>(options.px)));
    write_jpeg(
        place / fmt::format("{:06}.jpg", i),
        picture(width, options.px, seed_of(options, -1 - label), random.next()),
        85);
  }
}

// Lines of made-up words; the n-th word comes up about 1/n as often as the
// first, as in real text.
void make_text(const fs::path& folder, const MakeOptions& options) {
  constexpr std::array<const char*, 12> kSyllables = {
      "ka", "lo", "mi", "ren", "tas", "u", "ve", "do", "shi", "ol", "pa", "en"};
  Random random(seed_of(options, 0));
  std::vector<std::string> words(500);
  for (std::string& word : words)
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left)
      word += kSyllables[random.below(kSyllables.size())];
  std::string text;
  for (std::int64_t line = 0; line < options.samples; ++line) {
    for (std::uint64_t left = 5 + random.below(8); left > 0; --left) {
      const double rank =
          std::pow(static_cast<double>(words.size()), random.unit()) - 1;
      text += words[static_cast<std::size_t>(rank)];
      text += left > 1 ? " " : ".\n";
    }
  }
  write_file(folder / "input.txt", text);
}

}  // namespace

void make_data(DataKind kind, const fs::path& folder,
               const MakeOptions& options) {
  if (kind == DataKind::synthetic)
    throw Error(Fault::config, "KIND",
                "synthetic data is made while training, no files are needed",
                "set data.kind = \"synthetic\" in the recipe");
  check_enough(kind, options);
  begin_folder(folder);
  write_json(folder / kMarker, {{"synthetic", true},
                                {"kind", word_of(kind)},
                                {"samples", options.samples},
                                {"seed", options.seed}});
  if (kind == DataKind::digits) make_digits(folder, options);
  if (kind == DataKind::cifar10) make_cifar10(folder, options);
  if (kind == DataKind::images) make_images(folder, options);
  if (kind == DataKind::text) make_text(folder, options);
}

bool is_stand_in(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder =
      fs::is_directory(path, ignored) ? path : path.parent_path();
  return fs::exists(folder / kMarker, ignored);
}

}  // namespace lockstep
