// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's convolution in fp64 on the CPU.
#include "lockstep/kernels/conv1d.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using Conv1dOnGpu = GpuTest;

struct Conv1dCase {
  std::int64_t batch, in, length, out, taps, padding, pool;
};

struct Conv1dPassed {
  at::Tensor output, input_grad, weight_grad, bias_grad;
};

Conv1dPassed pass_conv1d(const Conv1dCase& c, const at::Tensor& x0,
                         const at::Tensor& w0, const at::Tensor& b0,
                         const at::Tensor& g, bool ours) {
  const auto option = ours ? at::TensorOptions().device(at::kCUDA)
                           : at::TensorOptions().dtype(at::kDouble);
  const bool wants_input = c.in > 1;
  at::Tensor x = x0.to(option).requires_grad_(wants_input);
  at::Tensor w = w0.to(option).requires_grad_();
  at::Tensor b = b0.to(option).requires_grad_();
  at::Tensor y;
  if (ours) {
    const Autocast autocast;
    y = conv1d_relu_max_pool1d(x, w, b, c.padding, c.pool);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    EXPECT_EQ(y.stride(1), 1) << "our kernel leaves channels last";
  } else {
    y = at::max_pool1d(at::conv1d(x, w, b, 1, c.padding).relu(), c.pool);
  }
  y.backward(g.to(y.options()));
  return {y, wants_input ? x.grad() : at::Tensor(), w.grad(), b.grad()};
}

void compare_conv1d(const Conv1dCase& c) {
  SCOPED_TRACE(::testing::Message() << c.in << " channels, " << c.taps
                                    << " taps, length " << c.length);
  const at::Tensor x = random({c.batch, c.in, c.length});
  const at::Tensor w =
      random({c.out, c.in, c.taps}) / 16;  // a power of two: still exact
  const at::Tensor b = random({c.out});
  const std::int64_t windows = (c.length + 2 * c.padding - c.taps + 1) / c.pool;
  const at::Tensor g = random({c.batch, c.out, windows});
  const Conv1dPassed ours = pass_conv1d(c, x, w, b, g, true);
  const Conv1dPassed theirs = pass_conv1d(c, x, w, b, g, false);
  EXPECT_LT(distance(ours.output, theirs.output), kBf16Once);
  // fp32 sums of exact products; a maximum that bf16 cannot tell from its
  // neighbour is found in fp32 all the same.
  EXPECT_LT(distance(ours.weight_grad, theirs.weight_grad), 1e-4);
  EXPECT_LT(distance(ours.bias_grad, theirs.bias_grad), 1e-4);
  if (c.in > 1) {
    EXPECT_LT(distance(ours.input_grad, theirs.input_grad), kBf16Once);
  }
}

TEST_F(Conv1dOnGpu, AgreesWithLibTorchAtTheModelsSizes) {
  compare_conv1d({2, 1, 12000, 50, 200, 100, 4});
  compare_conv1d({2, 50, 3000, 30, 100, 50, 3});
  compare_conv1d({2, 30, 1000, 10, 50, 25, 5});
}

TEST_F(Conv1dOnGpu, AgreesWhereNothingIsRound) {
  compare_conv1d({1, 1, 301, 53, 37, 0, 4});
  compare_conv1d({3, 49, 143, 25, 7, 3, 3});
  compare_conv1d({2, 25, 219, 16, 11, 10, 5});
  compare_conv1d({1, 50, 4, 30, 3, 1, 3});
}

TEST_F(Conv1dOnGpu, GivesTheSameBitsEveryTime) {
  const Conv1dCase c{4, 50, 700, 30, 100, 50, 3};
  const at::Tensor x = random({4, 50, 700}), w = random({30, 50, 100}) / 16;
  const at::Tensor b = random({30}), g = random({4, 30, 233});
  const Conv1dPassed first = pass_conv1d(c, x, w, b, g, true);
  const Conv1dPassed again = pass_conv1d(c, x, w, b, g, true);
  EXPECT_TRUE(at::equal(first.output, again.output));
  EXPECT_TRUE(at::equal(first.weight_grad, again.weight_grad));
  EXPECT_TRUE(at::equal(first.bias_grad, again.bias_grad));
  EXPECT_TRUE(at::equal(first.input_grad, again.input_grad));
}

TEST_F(Conv1dOnGpu, LeavesOtherSizesAndFp32ToLibTorch) {
  const at::Tensor x = random({2, 3, 100}).to(at::kCUDA);
  const at::Tensor w = random({5, 3, 9}).to(at::kCUDA);
  const at::Tensor b = random({5}).to(at::kCUDA);
  const at::Tensor y = conv1d_relu_max_pool1d(x, w, b, 4, 2);
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  EXPECT_TRUE(
      at::equal(y, at::max_pool1d(at::conv1d(x, w, b, 1, 4).relu(), 2)));
}

}  // namespace
}  // namespace lockstep
