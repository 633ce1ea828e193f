// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/replicate.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {
namespace {

// The whole vector goes to, or comes from, replica `other`, and nothing else
// moves: a message between two.
TransferHandle between(Group& group, Collective op, int other,
                       const at::Tensor& values, const at::Tensor& arrived) {
  Call call{.op = op};
  call.shares.assign(static_cast<std::size_t>(group.size()), 0);
  call.shares[static_cast<std::size_t>(other)] = values.numel();
  const bool root = group.rank() == 0, meant = group.rank() == other;
  const at::Tensor nothing = values.narrow(0, 0, 0);
  if (op == Collective::scatter) {
    call.tensor = meant ? values : nothing;
    if (root) call.input = values;
  } else {
    call.input = meant ? values : nothing;
    if (root) call.tensor = arrived;
  }
  const TransferHandle handle = group.start(call);
  group.wait(handle);
  return handle;
}

// The row of comm.csv: from the first transfer's beginning to the last's end.
void record(const StrategyContext& context, const Message& planned,
            const std::vector<TransferHandle>& transfers) {
  Group& group = context.group;
  const double bus_bytes =
      bus_factor(planned.op, group.size()) * static_cast<double>(planned.bytes);
  const auto fill = [&group, transfers, bus_bytes](CommSample& sample) {
    const TransferTimes first = group.times(transfers.front());
    sample.issued_s = first.issued_s;
    sample.begin_s = first.begin_s;
    sample.end_s = group.times(transfers.back()).end_s;
    const double seconds = sample.end_s - sample.begin_s;
    sample.bus_bytes_per_s = seconds > 0 ? bus_bytes / seconds : 0;
  };
  CommSample sample{.op = std::string(word(planned.op)),
                    .payload = std::string(word(planned.payload)),
                    .bytes = planned.bytes};
  if (!context.params.values().is_cpu())
    return context.recorder.message(std::move(sample), fill);
  fill(sample);
  context.recorder.message(std::move(sample));
}

bool as_star(const StrategyContext& context, const Message& planned,
             const at::Tensor& values) {
  check(planned.bytes == static_cast<std::int64_t>(values.nbytes()),
        "a strategy sends what it planned");
  return planned.route == Route::star && context.group.size() > 1;
}

}  // namespace

void broadcast_model(const StrategyContext& context, Messages& messages,
                     const Message& planned, const at::Tensor& values) {
  if (!as_star(context, planned, values)) {
    messages.start(planned, 0, {.op = Collective::broadcast, .tensor = values});
    return messages.wait();
  }
  std::vector<TransferHandle> transfers;
  for (int r = 1; r < context.group.size(); ++r)
    transfers.push_back(
        between(context.group, Collective::scatter, r, values, {}));
  record(context, planned, transfers);
}

void reduce_model(const StrategyContext& context, Messages& messages,
                  const Message& planned, const at::Tensor& values) {
  if (!as_star(context, planned, values)) {
    messages.start(planned, 0, {.op = Collective::reduce, .tensor = values});
    return messages.wait();
  }
  const bool root = context.group.rank() == 0;
  const at::Tensor arrived = root ? at::empty_like(values) : at::Tensor();
  std::vector<TransferHandle> transfers;
  for (int r = 1; r < context.group.size(); ++r) {
    transfers.push_back(
        between(context.group, Collective::gather, r, values, arrived));
    if (root) values.add_(arrived);
  }
  record(context, planned, transfers);
}

}  // namespace lockstep
