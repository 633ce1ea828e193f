// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's convolution in fp64 on the CPU.
#include "lockstep/kernels/conv2d.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "lockstep/kernels/direct_grad.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using Conv2dOnGpu = GpuTest;

struct Conv2dPassed {
  at::Tensor output, input, weight;
};

at::Tensor leaf(const at::Tensor& t, at::TensorOptions place) {
  return t.to(place)
      .contiguous(at::MemoryFormat::ChannelsLast)
      .detach()
      .requires_grad_();
}

Conv2dPassed our_conv2d(const at::Tensor& x0, const at::Tensor& w0,
                        const at::Tensor& g) {
  const at::Tensor x = leaf(x0, at::kCUDA), w = leaf(w0, at::kCUDA);
  at::Tensor(w).mutable_grad() = at::zeros_like(w);
  allow_direct_grad(w);
  const Autocast bf16;
  EXPECT_TRUE(takes_direct_conv2d(x, w));
  const at::Tensor y = conv2d_direct(x, w, /*stride=*/1, /*padding=*/1);
  y.backward(g.to(at::TensorOptions(at::kCUDA).dtype(at::kBFloat16)));
  return {y, x.grad(), w.grad()};
}

Conv2dPassed their_conv2d(const at::Tensor& x0, const at::Tensor& w0,
                          const at::Tensor& g) {
  const at::Tensor x = leaf(x0, at::kDouble), w = leaf(w0, at::kDouble);
  const at::Tensor y = at::conv2d(x, w, {}, 1, 1);
  y.backward(g.to(at::kDouble));
  return {y, x.grad(), w.grad()};
}

// Three channels are widened to eight on the way; what comes out must still be
// channels last, or no layer after it finds its kernel.
TEST_F(Conv2dOnGpu, AgreesWithLibTorchAndStaysChannelsLast) {
  for (const std::int64_t channels : {3, 16}) {
    SCOPED_TRACE(channels);
    const at::Tensor x = random({4, channels, 9, 9});
    const at::Tensor w = random({24, channels, 3, 3});
    const at::Tensor g = random({4, 24, 9, 9});
    const Conv2dPassed a = our_conv2d(x, w, g), b = their_conv2d(x, w, g);
    EXPECT_TRUE(a.output.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_EQ(a.output.scalar_type(), at::kBFloat16);
    EXPECT_LT(distance(a.output, b.output), kBf16Once);
    EXPECT_LT(distance(a.input, b.input), kBf16Once);
    EXPECT_LT(distance(a.weight, b.weight), kBf16Once);
  }
}

// It has no gradient to be written, in training and in evaluation.
TEST_F(Conv2dOnGpu, TakesAWeightThatIsNotTrained) {
  const at::Tensor x = random({4, 3, 9, 9}), w = random({24, 3, 2, 2});
  const Autocast bf16;
  const at::Tensor weight = w.to(at::kCUDA);
  ASSERT_TRUE(takes_direct_conv2d(x.to(at::kCUDA), weight));
  const at::Tensor y = conv2d_direct(x.to(at::kCUDA), weight, 1, 0);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LT(distance(y, at::conv2d(x.to(at::kDouble), w.to(at::kDouble))),
            kBf16Once);
}

}  // namespace
}  // namespace lockstep
