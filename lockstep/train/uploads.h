// SPDX-License-Identifier: Apache-2.0
// Batches on their way to a device. A GPU copies from pinned memory by itself,
// beside the host: what it copies from is kept until it has, or the loader
// would fill it anew too early.
#pragma once

#include <c10/core/Event.h>

#include <deque>

#include "lockstep/config/train.h"
#include "lockstep/data/loader.h"

namespace lockstep {

class Uploads {
 public:
  // `config` must outlive it.
  Uploads(c10::Device device, const TrainConfig& config)
      : device_(device), config_(config) {}

  // As strategies take it; work handed to the device from now on sees it.
  Batch move(Batch batch);

 private:
  struct Open {
    Batch batch;
    c10::Event copied;
  };
  c10::Device device_;
  const TrainConfig& config_;
  std::deque<Open> open_;
};

}  // namespace lockstep
