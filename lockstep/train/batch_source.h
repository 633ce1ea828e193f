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
  explicit BatchSource(const Session& session);

  // Steps that are left in the epoch.
  std::int64_t steps() const { return steps_; }
  // The next pass's samples: on the CPU from the loader, on the device from a
  // resident set.
  Batch next();
  // The same on the device.
  Batch upload(Batch batch) { return uploads_.move(std::move(batch)); }

 private:
  Resident* resident_;
  Share share_;
  std::int64_t steps_;
  // Of a resident set: its order on the device, and what comes next.
  at::Tensor order_;
  std::size_t passes_, batch_ = 0;
  std::int64_t sample_ = 0;
  std::optional<Loader> loader_;
  Uploads uploads_;
};

}  // namespace lockstep
