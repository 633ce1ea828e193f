// SPDX-License-Identifier: Apache-2.0
// An emulated message on a GPU takes the time its link model gives it, beside
// the computation.
#include "lockstep/comm/emulated_group.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "lockstep/core/clock.h"
#include "lockstep/kernels/gpu_table.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using EmulatedOnGpu = GpuTest;

constexpr double kLink_s = 5e-3;

std::unique_ptr<Group> group() {
  return make_emulated_group(
      8, [](Collective, std::int64_t, int) { return kLink_s; },
      gpu_table().delay);
}

TEST_F(EmulatedOnGpu, AMessageTakesTheTimeOfItsLink) {
  const std::unique_ptr<Group> ranks = group();
  const at::Tensor t = at::ones({1000}).to(gpu().torch());
  ranks->run({.tensor = t});  // loads the kernel
  for (int i = 0; i < 3; ++i) {
    const TransferHandle sent = ranks->start({.tensor = t});
    ranks->wait(sent);
    const TransferTimes times = ranks->times(sent);
    // Never sooner; a sanitizer makes it a little later.
    EXPECT_GT(times.end_s - times.begin_s, kLink_s - 0.1e-3);
    EXPECT_LT(times.end_s - times.begin_s, 1.2 * kLink_s);
  }
  EXPECT_TRUE(at::equal(t.cpu(), at::ones({1000})));
}

TEST_F(EmulatedOnGpu, MessagesMoveBesideTheComputation) {
  const std::unique_ptr<Group> ranks = group();
  const at::Tensor t = at::ones({1000}).to(gpu().torch());
  const auto stream =
      c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(gpu().torch());
  gpu().synchronize();
  const double begin_s = now_s();
  const TransferHandle sent = ranks->start({.tensor = t});
  gpu_table().delay(stream, kLink_s);  // the computation
  ranks->wait(sent);
  gpu().synchronize();
  EXPECT_LT(now_s() - begin_s, 1.5 * kLink_s);
}

}  // namespace
}  // namespace lockstep
