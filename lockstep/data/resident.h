// SPDX-License-Identifier: Apache-2.0
// Small sets kept whole on the training device (data.resident).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>

#include "lockstep/data/loader.h"

namespace lockstep {

// Samples are read once, so nothing random may be asked of them. Batches are
// gathered on the device.
class Resident {
 public:
  Resident(const Dataset& dataset, c10::Device device, std::int64_t workers);

  // Batch of these samples, on the device.
  Batch batch(std::span<const std::int64_t> samples) const;
  std::int64_t bytes() const;

 private:
  Batch all_;
};

}  // namespace lockstep
