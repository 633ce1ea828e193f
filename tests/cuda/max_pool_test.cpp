// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's max pooling in fp64 on the CPU.
#include "lockstep/kernels/max_pool.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using MaxPoolOnGpu = GpuTest;

at::Tensor image(const at::Tensor& x) {
  return x.to(at::TensorOptions().device(gpu().torch()).dtype(at::kBFloat16))
      .contiguous(at::MemoryFormat::ChannelsLast);
}

// Few different numbers: many windows have equals.
TEST_F(MaxPoolOnGpu, AgreesWithLibTorchAndTakesTheFirstOfEquals) {
  for (const PoolWindow& w : {kResNetPool, kPool2x2, kPool3x3})
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{2, 64, 112, 112},
          {3, 8, 7, 10},
          {1, 24, 3, 3},
          {1, 24, 1, 1},
          {2, 16, 2, 5},
          {2, 64, 31, 31}}) {
      if (std::min(sizes[2], sizes[3]) + 2 * w.padding < w.size) continue;
      SCOPED_TRACE(::testing::Message()
                   << at::IntArrayRef(sizes) << " window " << w.size);
      const at::Tensor x0 = random(sizes).round();
      const at::Tensor x = image(x0).requires_grad_();
      const at::Tensor reference = x0.to(at::kDouble).requires_grad_();
      const at::Tensor want =
          at::max_pool2d(reference, w.size, w.stride, w.padding);
      const at::Tensor got = max_pool(x, w);
      EXPECT_NE(std::string(got.grad_fn()->name()).find("MaxPool>"),
                std::string::npos)
          << got.grad_fn()->name();
      // Of one sign: a sum of up to four is not near zero.
      const at::Tensor g = random(want.sizes()).abs();
      want.backward(g.to(at::kDouble));
      got.backward(image(g));
      EXPECT_TRUE(at::equal(got.cpu().to(at::kDouble), want));
      EXPECT_LT(distance(x.grad(), reference.grad()), kBf16Once);
    }
}

TEST_F(MaxPoolOnGpu, KeepsWhatIsNotANumber) {
  at::Tensor x = random({1, 8, 6, 6});
  x[0][3][2][2] = std::nan("");
  const at::Tensor y = max_pool(image(x), kResNetPool).cpu();
  EXPECT_TRUE(y[0][3][1][1].isnan().item<bool>());
  EXPECT_EQ(y.isnan().sum().item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace lockstep
