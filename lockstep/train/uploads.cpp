// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/uploads.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

// The host may be so many batches ahead of the device, no more: each holds
// memory.
constexpr std::size_t kMostAhead = 4;

}  // namespace

Batch Uploads::move(Batch batch) {
  Batch out = to_device(batch, device_, config_);
  if (device_.is_cpu() || !batch.inputs.is_cpu()) return out;
  while (!open_.empty() && open_.front().copied.query()) open_.pop_front();
  if (open_.size() == kMostAhead) {
    open_.front().copied.synchronize();
    open_.pop_front();
  }
  c10::Event copied(device_.type());
  copied.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  open_.push_back({std::move(batch), std::move(copied)});
  return out;
}

}  // namespace lockstep
