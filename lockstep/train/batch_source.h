// SPDX-License-Identifier: Apache-2.0
// Where a rank's next batch comes from in an epoch: the loader's threads, or
// the whole set on the device (data.resident).
#pragma once

#include <optional>

#include "lockstep/data/loader.h"
#include "lockstep/train/session.h"
#include "lockstep/train/uploads.h"

namespace lockstep {

class BatchSource {
 public:
  // From the session's position to the end of its epoch.
  explicit BatchSource(Session& session);

  // Steps that are left in the epoch.
  std::int64_t steps() const { return steps_; }
  // The next pass's samples: on the CPU from the loader, on the device from a
  // resident set.
  Batch next();
  // The same on the device.
  Batch upload(Batch batch) { return uploads_.move(std::move(batch)); }

 private:
  Resident* resident_;
  EpochOrder order_;
  std::int64_t steps_;
  // Of a resident set: what comes next.
  std::size_t passes_, batch_ = 0;
  std::int64_t sample_ = 0;
  std::optional<Loader> loader_;
  Uploads uploads_;
};

// A resident set's order of the next epoch, made while the device is busy with
// this one. Waits for the device at the end.
void order_next_epoch(Session& session);

}  // namespace lockstep
