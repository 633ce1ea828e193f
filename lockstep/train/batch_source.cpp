// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/batch_source.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/data/random.h"
#include "lockstep/data/resident.h"
#include "lockstep/data/shard.h"

namespace lockstep {
namespace {

// Device 0 of data_parallel reads for all; the other replicas' batches are
// empty.
Share share_of_epoch(const Session& s, const Position& at) {
  const bool central = s.config.strategy.kind == StrategyKind::data_parallel;
  const std::vector<std::int64_t> order = epoch_order(
      s.data.train->size(), static_cast<std::uint64_t>(s.config.train.seed),
      at.epoch, s.config.data.reshuffle);
  Share share = share_of(order, {.global_batch = s.batch.size.global,
                                 .ranks = central ? 1 : s.config.comm.ranks,
                                 .rank = central ? 0 : s.group.rank(),
                                 .passes = s.batch.size.passes,
                                 .begin = at.done});
  if (central && s.group.rank() > 0) {
    share.samples.clear();
    std::ranges::fill(share.batches, 0);
  }
  return share;
}

// Augmentation differs from epoch to epoch even where the order does not.
SampleSeeds epoch_seeds(const Session& s, std::int64_t number) {
  const auto seed = static_cast<std::uint64_t>(s.config.train.seed);
  const auto epoch = static_cast<std::uint64_t>(number);
  SampleSeeds out{.epoch = mix_seed(seed, epoch)};
  // No epoch has that number: this draw is none of theirs.
  if (s.config.data.flip_alternate)
    out.alternation = {.seed = mix_seed(seed, ~std::uint64_t{0}),
                       .odd = epoch % 2 == 1};
  return out;
}

Resident* resident_of(Session& s) {
  return s.resident.train ? &*s.resident.train : nullptr;
}

EpochOrder order_of(Session& s, const Position& at) {
  EpochOrder out{.epoch = at.epoch,
                 .done = at.done,
                 .size = s.batch.size,
                 .share = share_of_epoch(s, at)};
  if (const Resident* resident = resident_of(s))
    out.on_device =
        resident->order(out.share.samples, epoch_seeds(s, at.epoch));
  return out;
}

// What was made ahead, if it is what is wanted now.
EpochOrder take_order(Session& s) {
  const std::unique_ptr<EpochOrder> ahead = std::move(s.next_order);
  if (ahead && ahead->epoch == s.at.epoch && ahead->done == s.at.done &&
      ahead->size == s.batch.size)
    return *ahead;
  return order_of(s, s.at);
}

}  // namespace

BatchSource::BatchSource(Session& s)
    : resident_(resident_of(s)),
      order_(take_order(s)),
      steps_(steps_left(s.data.train->size(), s.batch.size.global, s.at.done)),
      passes_(static_cast<std::size_t>(s.batch.size.passes)),
      uploads_(s.device.torch(), s.config.train) {
  if (resident_ == nullptr)
    loader_.emplace(*s.data.train, order_.share,
                    LoaderOptions{.workers = s.config.data.workers,
                                  .seed = epoch_seeds(s, s.at.epoch),
                                  .pinned = s.device.torch().is_cuda()});
}

void order_next_epoch(Session& s) {
  if (resident_of(s) != nullptr)
    s.next_order =
        std::make_unique<EpochOrder>(order_of(s, {.epoch = s.at.epoch + 1}));
}

Batch BatchSource::next() {
  if (loader_) {
    std::optional<Batch> batch = loader_->next();
    check(batch.has_value(), "the loader has a batch for every pass");
    return std::move(*batch);
  }
  const std::int64_t size = order_.share.batches.at(batch_);
  const at::Tensor samples = order_.on_device.narrow(0, sample_, size);
  sample_ += size;
  return resident_->batch(samples, batch_++ % passes_);
}

}  // namespace lockstep
