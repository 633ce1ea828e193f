// SPDX-License-Identifier: Apache-2.0
// The tensor operations that a device would get, here on the CPU.
#include "lockstep/comm/device_exchange.h"

#include <gtest/gtest.h>

#include "lockstep/comm/exchange.h"
#include "tests/comm/collective_cases.h"

namespace lockstep {
namespace {

constexpr int kRanks = 3;

std::vector<Call> calls_of(Collective op, at::ScalarType type,
                           std::int64_t numel) {
  std::vector<Call> calls;
  for (int r = 0; r < kRanks; ++r) {
    const at::Tensor whole = cases::values(numel, type, r);
    const at::Tensor share = at::zeros({share_of(numel, kRanks, r)}, type);
    Call call{.op = op, .root = 1};
    if (op == Collective::reduce_scatter || op == Collective::scatter)
      call.tensor = share, call.input = whole;
    else if (op == Collective::all_gather || op == Collective::gather)
      call.tensor = at::zeros({numel}, type),
      call.input = cases::values(share.numel(), type, r);
    else
      call.tensor = whole;
    if (call.input.defined()) call.shares = cases::even(numel, kRanks);
    calls.push_back(call);
  }
  return calls;
}

// The same calls through the chunks of the thread group's exchange.
TEST(DeviceExchange, GivesWhatTheChunksGive) {
  for (const Collective op :
       {Collective::all_reduce, Collective::reduce, Collective::broadcast,
        Collective::reduce_scatter, Collective::all_gather, Collective::scatter,
        Collective::gather})
    for (const at::ScalarType type : cases::kTypes)
      for (const std::int64_t numel : {0, 1, 100}) {
        const std::vector<Call> ours = calls_of(op, type, numel);
        const std::vector<Call> theirs = calls_of(op, type, numel);
        exchange_tensors(layout_of(ours[0], 0, kRanks), ours);
        Exchange reference(kRanks, 0);
        for (int r = 0; r < kRanks; ++r)
          reference.join(r, theirs[static_cast<std::size_t>(r)]);
        reference.work();
        for (std::size_t r = 0; r < kRanks; ++r)
          EXPECT_TRUE(at::equal(ours[r].tensor, theirs[r].tensor))
              << word(op) << " of " << numel << " on rank " << r;
      }
}

}  // namespace
}  // namespace lockstep
