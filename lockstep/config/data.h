// SPDX-License-Identifier: Apache-2.0
// Settings of the `data` section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class DataKind { digits, cifar10, images, text, synthetic };

// Training samples of the data sets that are everywhere the same.
constexpr std::int64_t kDigitsSamples = 2000;  // seed 000's training set
constexpr std::int64_t kCifar10Samples = 50'000;

// all: every sample trains and none is held back (seed 000 trained so).
// official: the data's own test or validation part. random: a share per class.
enum class SplitKind { all, official, random };

// What lies around an image that is padded: nothing, or its mirror image.
enum class CropFill { black, reflect };

struct DataConfig {
  DataKind kind = DataKind::synthetic;
  std::string path;
  SplitKind split = SplitKind::official;
  double val_share = 0.2;
  std::int64_t split_seed = 0;
  std::int64_t samples = 0;
  std::int64_t workers = 2;
  bool reshuffle = true;
  bool resident = false;
  bool skip_broken = false;
  std::int64_t image_px = 224;
  bool flip = false;
  bool flip_alternate = false;
  bool flip_vertical = false;
  double rotate_deg = 0;
  double brightness = 0;
  std::int64_t crop_pad_px = 0;
  CropFill crop_fill = CropFill::black;
  std::vector<double> mean;
  std::vector<double> std;
  std::int64_t synthetic_samples = 2000;
  std::int64_t synthetic_classes = 10;
  std::int64_t synthetic_seed = 0;
};

template <class Visitor>
void describe(Visitor& v, DataConfig& c) {
  v.choice("kind", c.kind, {"digits", "cifar10", "images", "text", "synthetic"},
           "what to train on; `lockstep data list` says what is there");
  v.text("path", c.path,
         "folder or file of the data; empty: LOCKSTEP_DATA, then data/");
  v.choice("split", c.split, {"all", "official", "random"},
           "what is held back for validation: nothing, the data's own part, "
           "or a share of each class");
  v.real("val_share", c.val_share, {.min = 0.001, .max = 0.9},
         "split random: share of each class held back");
  v.number("split_seed", c.split_seed, {.min = 0},
           "split random: seed that decides who is held back");
  v.number("samples", c.samples, {.min = 0},
           "train on so many samples only, evenly from all; 0: every one");
  v.number("workers", c.workers, {.min = 0, .max = 1024},
           "threads that decode and augment ahead; 0: in the training thread");
  v.flag("reshuffle", c.reshuffle,
         "a new order of samples each epoch; false: the first one again");
  v.flag("resident", c.resident,
         "keep the whole set on the training device (small sets)");
  v.flag("skip_broken", c.skip_broken,
         "leave out files that cannot be decoded instead of stopping");
  v.number("image_px", c.image_px, {.min = 8, .max = 4096},
           "images: side of the square the decoder resizes to");
  v.flag("flip", c.flip, "mirror half of the training images left to right");
  v.flag("flip_alternate", c.flip_alternate,
         "flip: draw who is mirrored in the first epoch only, then mirror the "
         "others and these in turn");
  v.flag("flip_vertical", c.flip_vertical,
         "mirror half of the training images top to bottom");
  v.real("rotate_deg", c.rotate_deg, {.min = 0, .max = 180},
         "turn training images by up to this angle either way");
  v.real("brightness", c.brightness, {.min = 0, .max = 1},
         "scale training images' brightness by up to this share either way");
  v.number("crop_pad_px", c.crop_pad_px, {.min = 0, .max = 64},
           "pad training images by this much and cut a random window");
  v.choice("crop_fill", c.crop_fill, {"black", "reflect"},
           "what crop_pad_px pads with: black, or the image mirrored at its "
           "edge");
  v.reals("mean", c.mean,
          "subtracted from each channel after pixels are in 0 to 1");
  v.reals("std", c.std, "each channel is divided by this after `mean`");
  v.number("synthetic_samples", c.synthetic_samples, {.min = 1},
           "synthetic: how many samples to make");
  v.number("synthetic_classes", c.synthetic_classes, {.min = 2},
           "synthetic: how many classes");
  v.number("synthetic_seed", c.synthetic_seed, {.min = 0},
           "synthetic: seed of the samples");
}

}  // namespace lockstep
