// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/stop_vote.h"

#include <ATen/ops/empty.h>

#include "lockstep/measure/recorder.h"

namespace lockstep {

StopVote::StopVote(Group& group, Recorder& recorder,
                   const std::atomic<int>& stop)
    : group_(group),
      recorder_(recorder),
      stop_(stop),
      word_(at::empty({1}, at::kLong)) {}

void StopVote::begin() {
  if (group_.size() == 1) return;
  *word_.data_ptr<std::int64_t>() = stop_ == 0 ? 0 : 1;
  under_way_ = group_.start({.op = Collective::all_reduce, .tensor = word_});
}

bool StopVote::end() {
  if (group_.size() == 1) return stop_ != 0;
  group_.wait(under_way_);
  const TransferTimes times = group_.times(under_way_);
  recorder_.message({.op = std::string(word(Collective::all_reduce)),
                     .payload = std::string(word(Payload::control)),
                     .bytes = bytes_of(WireType::int64),
                     .issued_s = times.issued_s,
                     .begin_s = times.begin_s,
                     .end_s = times.end_s});
  return *word_.const_data_ptr<std::int64_t>() != 0;
}

}  // namespace lockstep
