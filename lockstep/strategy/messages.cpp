// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/messages.h"

#include "lockstep/comm/layout.h"
#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/strategy/star.h"

namespace lockstep {
namespace {

// From the first transfer's beginning to the last one's end.
void fill(CommSample& sample, Group& group,
          const std::vector<TransferHandle>& transfers, double bus_bytes) {
  const TransferTimes first = group.times(transfers.front());
  sample.issued_s = first.issued_s;
  sample.begin_s = first.begin_s;
  sample.end_s =
      transfers.size() == 1 ? first.end_s : group.times(transfers.back()).end_s;
  const double seconds = sample.end_s - sample.begin_s;
  sample.bus_bytes_per_s = seconds > 0 ? bus_bytes / seconds : 0;
}

bool is_star(const Message& planned, const Group& group) {
  return planned.route == Route::star && group.size() > 1 &&
         (planned.op == Collective::broadcast ||
          planned.op == Collective::reduce);
}

}  // namespace

std::vector<Message> with_payload(const CommPlan& plan, Payload payload) {
  std::vector<Message> out;
  for (const Message& message : plan)
    if (message.payload == payload) out.push_back(message);
  return out;
}

void Messages::start(const Message& planned, std::int64_t bucket,
                     const Call& call) {
  const std::int64_t bytes =
      layout_of(call, group_.rank(), group_.size()).bytes();
  check(call.op == planned.op && (planned.upper_bound ? bytes <= planned.bytes
                                                      : bytes == planned.bytes),
        "a strategy sends what it planned");
  CommSample sample{.bucket = bucket,
                    .op = std::string(word(planned.op)),
                    .payload = std::string(word(planned.payload)),
                    .bytes = bytes};
  // Only a root has both tensors in every collective.
  const at::Tensor& held = call.tensor.defined() ? call.tensor : call.input;
  open_.push_back({std::move(sample), planned.op,
                   is_star(planned, group_) ? run_star(group_, call)
                                            : std::vector{group_.start(call)},
                   held.defined() && !held.is_cpu()});
}

void Messages::wait() {
  for (const Open& open : open_)
    for (const TransferHandle& transfer : open.transfers) group_.wait(transfer);
  for (const Open& open : open_) record(open);
  open_.clear();
}

// A device's times are read when the recorder is, outside of steps.
void Messages::record(const Open& open) {
  const double bus_bytes = bus_factor(open.op, group_.size()) *
                           static_cast<double>(open.sample.bytes);
  if (open.on_device)
    return recorder_.message(
        open.sample,
        [&group = group_, transfers = open.transfers, bus_bytes](
            CommSample& sample) { fill(sample, group, transfers, bus_bytes); });
  CommSample sample = open.sample;
  fill(sample, group_, open.transfers, bus_bytes);
  recorder_.message(std::move(sample));
}

}  // namespace lockstep
