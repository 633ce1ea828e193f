// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's cross-entropy in fp64 on the CPU.
#include "lockstep/kernels/loss.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/padded.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using LossOnGpu = GpuTest;
using LossOfALargeVocabularyOnGpu = GpuTest;
using LossOfManyRowsOnGpu = GpuTest;
using ColumnSumsOnGpu = GpuTest;

void compare_loss(std::int64_t rows, std::int64_t classes, double smoothing) {
  SCOPED_TRACE(::testing::Message() << rows << " rows of " << classes
                                    << ", smoothing " << smoothing);
  const at::Tensor x = at::randn({rows, classes}) * 5;
  const at::Tensor y = at::randint(classes, {rows}, at::kLong);
  const at::Tensor ours = x.to(gpu().torch());
  const at::Tensor targets = y.to(gpu().torch());
  ASSERT_TRUE(has_loss_kernel(ours, targets));
  const LossCount got = cross_entropy_count(ours, targets, smoothing, 0.25);
  const at::Tensor reference = x.to(at::kDouble).requires_grad_();
  const at::Tensor sum = at::cross_entropy_loss(
      reference, y, {}, at::Reduction::Sum, -100, smoothing);
  (sum * 0.25).backward();
  // Absolute, per row: a loss near 0 has no digits to compare.
  const auto furthest = [](const at::Tensor& a, const at::Tensor& b) {
    return (a.cpu().to(at::kDouble) - b).abs().max().item<double>();
  };
  EXPECT_LT(furthest(got.loss_sum, sum.detach()),
            1e-5 * static_cast<double>(rows));
  EXPECT_LT(furthest(got.grad, reference.grad()), 1e-6);
  EXPECT_EQ(got.correct.item<std::int64_t>(),
            x.argmax(1).eq(y).sum().item<std::int64_t>());
}

TEST_F(LossOnGpu, AgreesWithLibTorch) {
  for (const double smoothing : {0.0, 0.1}) {
    compare_loss(1, 2, smoothing);
    compare_loss(10, 10, smoothing);
    compare_loss(1030, 32, smoothing);
    compare_loss(77, 33, smoothing);
    compare_loss(128, 1000, smoothing);
  }
}

// bf16 logits of a language model, with room behind each row or without.
void compare_large(at::IntArrayRef sizes, bool padded, double smoothing) {
  SCOPED_TRACE(::testing::Message()
               << sizes << " padded " << padded << " smoothing " << smoothing);
  const std::int64_t classes = sizes.back();
  const at::Tensor x = (at::randn(sizes) * 5).to(at::kBFloat16);
  const at::Tensor y =
      at::randint(classes, sizes.slice(0, sizes.size() - 1), at::kLong);
  at::Tensor ours = x.to(gpu().torch());
  if (padded) {
    std::vector<std::int64_t> wide = sizes.vec();
    wide.back() = padded_columns(classes);
    const at::Tensor whole = at::full(wide, std::nan(""), ours.options());
    whole.narrow(-1, 0, classes).copy_(ours);
    ours = without_padding(whole, sizes);
  }
  const at::Tensor targets = y.to(gpu().torch());
  ASSERT_TRUE(has_loss_kernel(ours, targets));
  const LossCount got = cross_entropy_count(ours, targets, smoothing, 0.25);
  const at::Tensor reference = x.to(at::kDouble).requires_grad_();
  const at::Tensor sum =
      at::cross_entropy_loss(reference.flatten(0, -2), y.flatten(), {},
                             at::Reduction::Sum, -100, smoothing);
  (sum * 0.25).backward();
  EXPECT_LT(distance(got.loss_sum, sum), 1e-5);
  EXPECT_LT(distance(got.grad, reference.grad()), kBf16Once);
  EXPECT_EQ(got.grad.scalar_type(), at::kBFloat16);
  EXPECT_EQ(got.correct.item<std::int64_t>(),
            x.argmax(-1).eq(y).sum().item<std::int64_t>());
  if (padded) {
    ASSERT_TRUE(is_padded(got.grad));
    const at::Tensor behind =
        with_padding(got.grad).slice(1, classes, padded_columns(classes));
    EXPECT_TRUE(behind.eq(0).all().item<bool>());
  }
}

TEST_F(LossOfALargeVocabularyOnGpu, AgreesWithLibTorch) {
  for (const double smoothing : {0.0, 0.1}) {
    compare_large({2, 7, 50257}, true, smoothing);
    compare_large({2, 7, 50257}, false, smoothing);
    compare_large({3, 60000}, false, smoothing);  // not kept on the way
    compare_large({1, 1025}, true, smoothing);
    compare_large({2, 3, 5}, false, smoothing);
    compare_large({300, 20, 256}, false, smoothing);
  }
}

TEST_F(LossOfManyRowsOnGpu, AgreesWithLibTorchInFp32) {
  compare_loss(20000, 10, 0);
  compare_loss(70, 5000, 0.1);
  compare_loss(9, 40001, 0);
}

TEST_F(ColumnSumsOnGpu, AgreeWithLibTorch) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{10, 1000}, {600, 33}, {1, 1}}) {
    const at::Tensor x = at::randn({rows, columns});
    const at::Tensor to = at::empty({columns}).to(gpu().torch());
    gpu_table().column_sums(x.to(gpu().torch()), to);
    EXPECT_LT(distance(to, x.to(at::kDouble).sum(0)), 1e-6);
  }
}

// Neither read nor counted, and nothing waits for it.
TEST_F(LossOnGpu, SaysThatATargetIsNoClass) {
  for (const std::int64_t classes : {10, 200, 2000})
    for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{-100},
                                   classes, (std::int64_t{1} << 32) + 1}) {
      SCOPED_TRACE(::testing::Message() << bad << " of " << classes);
      const at::Tensor x = at::randn({40, classes}).to(gpu().torch());
      at::Tensor y = at::zeros({40}, at::kLong);
      y[33] = bad;
      const LossCount got = cross_entropy_count(x, y.to(gpu().torch()), 0, 1);
      EXPECT_EQ(got.correct.item<std::int64_t>(), kNoSuchClass);
      EXPECT_TRUE(got.loss_sum.isnan().item<bool>());
      EXPECT_TRUE(got.grad.isfinite().all().item<bool>());
    }
}

TEST_F(LossOnGpu, KeepsWhatIsNotANumber) {
  at::Tensor x = at::randn({4, 10});
  x[2][3] = std::nan("");
  const LossCount got = cross_entropy_count(
      x.to(gpu().torch()), at::zeros({4}, at::kLong).to(gpu().torch()), 0, 1);
  EXPECT_TRUE(got.loss_sum.isnan().item<bool>());
}

}  // namespace
}  // namespace lockstep
