// SPDX-License-Identifier: Apache-2.0
// Small sets kept whole on the training device (data.resident).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "lockstep/data/loader.h"

namespace lockstep {

// Samples are read once, so nothing random may be asked of them. Batches are
// gathered on the device.
class Resident {
 public:
  Resident(const Dataset& dataset, c10::Device device, std::int64_t workers);

  // Batch of these samples, on the device.
  Batch batch(std::span<const std::int64_t> samples) const;
  // The same without waiting for the device, which holds the samples' numbers
  // (index(), once an epoch). Fills the tensors it gave out the last time for
  // this many samples and this pass of a step.
  Batch batch(const at::Tensor& index, std::size_t pass);
  at::Tensor index(std::span<const std::int64_t> samples) const;
  std::int64_t bytes() const;

 private:
  Batch all_;
  std::map<std::pair<std::size_t, std::int64_t>, Batch> given_;
};

}  // namespace lockstep
