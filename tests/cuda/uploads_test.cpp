// SPDX-License-Identifier: Apache-2.0
// A batch in pinned memory is kept until the GPU has copied it.
#include "lockstep/train/uploads.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "lockstep/kernels/gpu_table.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using UploadsOnGpu = GpuTest;

at::Tensor pinned(double value) {
  const auto place = at::TensorOptions().pinned_memory(true);
  return at::full({1 << 20}, value, place);
}

void busy(double seconds) {
  gpu_table().delay(
      c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(gpu().torch()),
      seconds);
}

TEST_F(UploadsOnGpu, KeepTheHostsMemoryUntilItIsCopied) {
  const TrainConfig config;
  Uploads uploads(gpu().torch(), config);
  const at::Tensor memory = pinned(1);
  ASSERT_TRUE(memory.is_pinned());
  busy(50e-3);
  const Batch there = uploads.move(
      {memory.narrow(0, 0, 100), at::zeros({100}, at::kLong), 100});
  // The loader takes this as "still in use".
  EXPECT_GT(memory.storage().use_count(), 1u);
  gpu().synchronize();
  EXPECT_TRUE(at::equal(there.inputs.cpu(), at::ones({100})));
  uploads.move({pinned(2), at::zeros({100}, at::kLong), 100});
  EXPECT_EQ(memory.storage().use_count(), 1u);
}

TEST_F(UploadsOnGpu, WaitRatherThanHoldEverything) {
  const TrainConfig config;
  Uploads uploads(gpu().torch(), config);
  const at::Tensor first = pinned(0);
  busy(20e-3);
  std::vector<at::Tensor> there;
  for (int i = 0; i < 10; ++i)
    there.push_back(uploads
                        .move({i == 0 ? first.narrow(0, 0, 9) : pinned(i),
                               at::zeros({9}, at::kLong), 9})
                        .inputs);
  EXPECT_EQ(first.storage().use_count(), 1u);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(there[static_cast<std::size_t>(i)][3].item<float>(), i);
}

}  // namespace
}  // namespace lockstep
