// SPDX-License-Identifier: Apache-2.0
// Batches of a dataset in a given order, read ahead by worker threads. The
// same seed gives the same batches whatever the number of workers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/data/random.h"
#include "lockstep/data/shard.h"

namespace lockstep {

struct Batch {
  at::Tensor inputs;   // [samples, ...shape.input]
  at::Tensor targets;  // [samples] or [samples, context], int64
  std::int64_t samples = 0;
  // The source fills these very tensors again: the next batch of this size
  // (and pass of a step) lies at the same address.
  bool in_place = false;
};

struct LoaderOptions {
  std::int64_t batch = 1;  // ignored where a Share says the sizes
  std::int64_t workers = 0;
  SampleSeeds seed = {};   // of augmentation, by the sample's index
  std::int64_t ahead = 3;  // batches read before they are asked for
  // In memory that a GPU copies from by itself. Whoever starts such a copy
  // keeps the batch until it is over.
  bool pinned = false;
};

class Loader {
 public:
  // Reads `order` front to back in batches; the last one may be smaller.
  // `dataset` must outlive the loader.
  Loader(const Dataset& dataset, std::vector<std::int64_t> order,
         LoaderOptions options);
  // Reads a rank's share in its own batch sizes. An empty batch has tensors of
  // zero samples.
  Loader(const Dataset& dataset, Share share, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch on the CPU, or nothing at the end. Throws what a worker
  // threw, at the batch where it happened; the call after that goes on with
  // the next batch. A batch's memory is used again once the last tensor that
  // refers to it is gone. One thread calls this.
  std::optional<Batch> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
