// SPDX-License-Identifier: Apache-2.0
// Small sets kept whole on the training device (data.resident). Images are kept
// as bytes, and what chance chose for each goes to the device with the order of
// an epoch; batches are made there. Other samples are kept as they are read.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "lockstep/data/augment.h"
#include "lockstep/data/loader.h"

namespace lockstep {

struct ResidentOptions {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  std::int64_t workers = 0;
  // Images: how they are changed, where `augment`, and normalised.
  DataConfig data = {};
  bool augment = false;
  // Images on a GPU as training reads them.
  bool bf16 = false, channels_last = false;
};

class Resident {
 public:
  Resident(const Dataset& dataset, const ResidentOptions& options);

  // Samples in this order with their changes, on the device: a row of words
  // each (kernels/image_place.h). Once an epoch; waits for the device.
  at::Tensor order(std::span<const std::int64_t> samples,
                   const SampleSeeds& seeds = {}) const;
  // Batch of a range of an order, without waiting for the device. Fills the
  // tensors it gave out the last time for this many samples and this pass of a
  // step.
  Batch batch(const at::Tensor& order, std::size_t pass);
  std::int64_t bytes() const;

 private:
  void hold_images(const Dataset& dataset);
  void hold_samples(const Dataset& dataset);
  Batch room_for(std::int64_t samples) const;
  void fill_images(const at::Tensor& order, const Batch& to) const;

  ResidentOptions options_;
  Normalise normalise_;
  bool images_ = false;
  // [samples, height, width, 4] bytes of images, else samples as they are read.
  at::Tensor inputs_, targets_;
  std::map<std::pair<std::size_t, std::int64_t>, Batch> given_;
};

// The first `count` images as held-back ones are read, none changed by chance:
// [count, 3, height, width] on the CPU. Fewer where there are fewer.
at::Tensor first_images(const DataConfig& config, const Dataset& dataset,
                        std::int64_t count);

// What a run keeps on its device; nothing where it does not.
struct ResidentSets {
  std::optional<Resident> train = {}, validation = {};
};

}  // namespace lockstep
