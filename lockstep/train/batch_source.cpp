// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/batch_source.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/data/random.h"
#include "lockstep/data/resident.h"
#include "lockstep/data/shard.h"

namespace lockstep {
namespace {

// Device 0 of data_parallel reads for all; the other replicas' batches are
// empty.
Share share_of_epoch(const Session& s) {
  const bool central = s.config.strategy.kind == StrategyKind::data_parallel;
  const std::vector<std::int64_t> order = epoch_order(
      s.data.train->size(), static_cast<std::uint64_t>(s.config.train.seed),
      s.at.epoch, s.config.data.reshuffle);
  Share share = share_of(order, {.global_batch = s.batch.size.global,
                                 .ranks = central ? 1 : s.config.comm.ranks,
                                 .rank = central ? 0 : s.group.rank(),
                                 .passes = s.batch.size.passes,
                                 .begin = s.at.done});
  if (central && s.group.rank() > 0) {
    share.samples.clear();
    std::ranges::fill(share.batches, 0);
  }
  return share;
}

// Augmentation differs from epoch to epoch even where the order does not.
std::uint64_t epoch_seed(const Session& s) {
  return mix_seed(static_cast<std::uint64_t>(s.config.train.seed),
                  static_cast<std::uint64_t>(s.at.epoch));
}

}  // namespace

BatchSource::BatchSource(const Session& s)
    : resident_(s.resident),
      share_(share_of_epoch(s)),
      steps_(steps_left(s.data.train->size(), s.batch.size.global, s.at.done)),
      passes_(static_cast<std::size_t>(s.batch.size.passes)),
      uploads_(s.device.torch(), s.config.train) {
  if (resident_ != nullptr)
    order_ = resident_->index(share_.samples);
  else
    loader_.emplace(*s.data.train, share_,
                    LoaderOptions{.workers = s.config.data.workers,
                                  .seed = epoch_seed(s),
                                  .pinned = s.device.torch().is_cuda()});
}

Batch BatchSource::next() {
  if (loader_) {
    std::optional<Batch> batch = loader_->next();
    check(batch.has_value(), "the loader has a batch for every pass");
    return std::move(*batch);
  }
  const std::int64_t size = share_.batches.at(batch_);
  const at::Tensor samples = order_.narrow(0, sample_, size);
  sample_ += size;
  return resident_->batch(samples, batch_++ % passes_);
}

}  // namespace lockstep
