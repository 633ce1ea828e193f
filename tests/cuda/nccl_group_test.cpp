// SPDX-License-Identifier: Apache-2.0
// One rank on one GPU: NCCL refuses a second one there. What one rank can show:
// every collective leaves its values where they belong, tensors of the host
// travel too, and times are those of the device.
#include "lockstep/comm/nccl_group.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using NcclGroup = GpuTest;

void with_group(const std::function<void(Group&)>& body) {
  run_nccl_ranks(1, 0, {}, {}, body);
}

TEST_F(NcclGroup, OfOneLeavesEveryValueWhereItBelongs) {
  with_group([](Group& group) {
    EXPECT_EQ(group.backend(), "nccl");
    for (const c10::Device device : {gpu().torch(), c10::Device(c10::kCPU)})
      for (const at::ScalarType type :
           {at::kFloat, at::kHalf, at::kBFloat16, at::kLong})
        for (const std::int64_t numel : {0, 1, 1001}) {
          const at::Tensor own = at::arange(numel).to(device, type);
          for (const Collective op :
               {Collective::all_reduce, Collective::reduce,
                Collective::broadcast}) {
            const at::Tensor t = own.clone();
            group.run({.op = op, .tensor = t});
            EXPECT_TRUE(at::equal(t, own)) << word(op) << ' ' << numel;
          }
          for (const Collective op :
               {Collective::reduce_scatter, Collective::all_gather,
                Collective::scatter, Collective::gather}) {
            const at::Tensor t = at::zeros_like(own);
            group.run({.op = op, .tensor = t, .input = own});
            EXPECT_TRUE(at::equal(t, own)) << word(op) << ' ' << numel;
          }
        }
    group.run({.op = Collective::barrier});
  });
}

TEST_F(NcclGroup, KnowsWhenAMessageMoved) {
  with_group([](Group& group) {
    const at::Tensor t = at::ones({1 << 20}).to(gpu().torch());
    const TransferHandle sent = group.start({.tensor = t});
    group.wait(sent);
    const TransferTimes times = group.times(sent);
    EXPECT_LE(times.issued_s, times.begin_s + 1e-3);
    EXPECT_LT(times.begin_s, times.end_s);
    EXPECT_LT(times.end_s - times.begin_s, 1.0);
  });
}

TEST_F(NcclGroup, OfTwoOnOneGpuIsRefusedWithTheWayOut) {
  try {
    run_nccl_ranks(2, 0, {}, {}, [](Group&) {});
    FAIL() << "two ranks shared a GPU";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    EXPECT_NE(e.hint().find("comm.kind=threads"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
