// SPDX-License-Identifier: Apache-2.0
// Layers of transformers in bf16. Reference: LibTorch's operations in fp64 on
// the CPU, on numbers that bf16 holds exactly.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/kernels/add_norm.h"
#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/embedding.h"
#include "lockstep/kernels/gelu.h"
#include "lockstep/kernels/half.h"
#include "lockstep/kernels/half_linear.h"
#include "lockstep/kernels/vocab_head.h"
#include "lockstep/optim/flat_params.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using HalfLinearOnGpu = GpuTest;
using VocabHeadOnGpu = GpuTest;
using AddNormOnGpu = GpuTest;
using BiasGeluOnGpu = GpuTest;
using EmbeddingOnGpu = GpuTest;

// fp32 sums of exact products.
constexpr double kFp32Sum = 1e-4;

// Parameters on the GPU as a trainer lays them out, and the same in fp64.
class Parameters {
 public:
  explicit Parameters(const std::vector<at::Tensor>& values) {
    for (const at::Tensor& value : values) {
      const std::string name = "p" + std::to_string(module_.ours.size());
      module_.ours.push_back(module_.register_parameter(
          name, value.to(gpu().torch()).requires_grad_()));
      theirs.push_back(value.to(at::kDouble).requires_grad_());
    }
    flat_ = std::make_unique<FlatParams>(module_);
    flat_->cast_to_half();
  }
  const at::Tensor& ours(std::size_t i) const { return module_.ours[i]; }
  // As an update leaves them: gradients of kernels count as zero.
  void end_step() {
    for (const at::Tensor& p : module_.ours) {
      DirectGrad& direct = *direct_grad_of(p);
      if (direct.used)
        direct.stale = true;
      else
        at::Tensor(p).mutable_grad().zero_();
    }
  }
  void expect_grads(double factor, double limit) const {
    for (std::size_t i = 0; i < theirs.size(); ++i)
      EXPECT_LT(distance(ours(i).grad(), theirs[i].grad() * factor), limit)
          << "parameter " << i;
  }
  std::vector<at::Tensor> theirs;

 private:
  struct Holder : torch::nn::Module {
    std::vector<at::Tensor> ours;
  };
  Holder module_;
  std::unique_ptr<FlatParams> flat_;
};

at::Tensor on_gpu(const at::Tensor& t, at::ScalarType type) {
  return t.detach().to(gpu().torch(), type);
}
at::Tensor input(const at::Tensor& t, at::ScalarType type) {
  return on_gpu(t, type).requires_grad_();
}
at::Tensor reference(const at::Tensor& t) {
  return t.detach().to(at::kDouble).requires_grad_();
}

// Runs `ours` in a first step, in a second that finds old gradients, and a
// second time in that one.
template <class Run>
void expect_grads_of_steps(Parameters& p, double limit, const Run& ours) {
  ours();
  p.expect_grads(1, limit);
  p.end_step();
  ours();
  p.expect_grads(1, limit);
  ours();
  p.expect_grads(2, limit);
}

void compare_linear(at::IntArrayRef rows, std::int64_t in, std::int64_t out,
                    WeightOrder order, bool bias) {
  SCOPED_TRACE(::testing::Message()
               << rows << " x " << in << " -> " << out << " order "
               << static_cast<int>(order) << " bias " << bias);
  const bool in_out = order == WeightOrder::in_out;
  std::vector<std::int64_t> x_sizes = rows.vec(), y_sizes = rows.vec();
  x_sizes.push_back(in), y_sizes.push_back(out);
  std::vector<at::Tensor> values{
      random(in_out ? at::IntArrayRef({in, out}) : at::IntArrayRef({out, in}))};
  if (bias) values.push_back(random({out}));
  Parameters p(values);
  const at::Tensor x0 = random(x_sizes), g0 = random(y_sizes);
  const at::Tensor x = reference(x0);
  const at::Tensor y = at::linear(x, in_out ? p.theirs[0].t() : p.theirs[0],
                                  bias ? p.theirs[1] : at::Tensor());
  y.backward(g0.to(at::kDouble));
  expect_grads_of_steps(p, kFp32Sum, [&] {
    const Autocast autocast;
    const at::Tensor x16 = input(x0, at::kBFloat16);
    ASSERT_TRUE(takes_half(x16, p.ours(0)));
    const at::Tensor y16 =
        half_linear(x16, p.ours(0), bias ? p.ours(1) : at::Tensor(), order);
    y16.backward(on_gpu(g0, at::kBFloat16));
    EXPECT_LT(distance(y16, y), kBf16Once);
    EXPECT_LT(distance(x16.grad(), x.grad()), kBf16Once);
  });
}

TEST_F(HalfLinearOnGpu, AgreesWithLibTorch) {
  for (const WeightOrder order : {WeightOrder::out_in, WeightOrder::in_out})
    for (const bool bias : {false, true}) {
      compare_linear({3, 50}, 64, 48, order, bias);
      compare_linear({700}, 768, 2304, order, bias);
      compare_linear({5}, 13, 33, order, bias);  // nothing aligned
      compare_linear({1}, 8, 8, order, bias);
    }
}

TEST_F(HalfLinearOnGpu, IsLeftToLibTorchOutsideOfAutocastAndWithoutGradients) {
  Parameters p({random({16, 16})});
  const at::Tensor x = on_gpu(random({4, 16}), at::kBFloat16);
  EXPECT_FALSE(takes_half(x, p.ours(0)));
  const Autocast autocast;
  EXPECT_TRUE(takes_half(x, p.ours(0)));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(takes_half(x, p.ours(0)));
}

TEST_F(VocabHeadOnGpu, AgreesWithLibTorchForAnyVocabulary) {
  for (const std::int64_t vocab : {1003, 1024, 50257}) {
    SCOPED_TRACE(vocab);
    Parameters p({random({vocab, 64})});
    const at::Tensor x0 = random({2, 9, 64}), g0 = random({2, 9, vocab});
    const at::Tensor x = reference(x0);
    const at::Tensor y = at::linear(x, p.theirs[0]);
    y.backward(g0.to(at::kDouble));
    expect_grads_of_steps(p, kFp32Sum, [&] {
      const Autocast autocast;
      const at::Tensor x16 = input(x0, at::kBFloat16);
      const at::Tensor y16 = vocab_head(x16, p.ours(0));
      EXPECT_EQ(y16.stride(1) % 8, 0);
      y16.backward(on_gpu(g0, at::kBFloat16));
      EXPECT_LT(distance(y16, y), kBf16Once);
      EXPECT_LT(distance(x16.grad(), x.grad()), kBf16Once);
    });
  }
}

void compare_add_norm(std::int64_t rows, std::int64_t width, bool branch,
                      bool bias) {
  SCOPED_TRACE(::testing::Message() << rows << " x " << width << " branch "
                                    << branch << " bias " << bias);
  std::vector<at::Tensor> values{random({width}) / 4 + 1, random({width})};
  if (bias) values.push_back(random({width}));
  Parameters p(values);
  const at::Tensor x0 = random({rows, width}) + 4, b0 = random({rows, width});
  const at::Tensor g0 = random({rows, width}), s0 = random({rows, width});
  const at::Tensor x = reference(x0), b = reference(b0);
  at::Tensor sum = branch ? x + b : x;
  if (bias) sum = sum + p.theirs[2];
  const at::Tensor y =
      at::layer_norm(sum, {width}, p.theirs[0], p.theirs[1], 1e-5);
  ((y * g0).sum() + (sum * s0).sum()).backward();
  expect_grads_of_steps(p, kFp32Sum, [&] {
    const Autocast autocast;
    const at::Tensor x32 = input(x0, at::kFloat);
    const at::Tensor b16 = input(b0, at::kBFloat16);
    const AddNormInput in{.x = x32,
                          .branch = branch ? b16 : at::Tensor(),
                          .branch_bias = bias ? p.ours(2) : at::Tensor(),
                          .weight = p.ours(0),
                          .bias = p.ours(1)};
    ASSERT_TRUE(has_add_norm_kernel(in));
    const AddNormOutput out = add_norm(in);
    torch::autograd::backward({out.output, out.sum}, {on_gpu(g0, at::kBFloat16),
                                                      on_gpu(s0, at::kFloat)});
    EXPECT_LT(distance(out.output, y), kBf16Once);
    EXPECT_LT(distance(out.sum, sum), 1e-6);
    EXPECT_LT(distance(x32.grad(), x.grad()), 1e-5);
    if (branch) {
      EXPECT_LT(distance(b16.grad(), b.grad()), kBf16Once);
    }
  });
}

TEST_F(AddNormOnGpu, AgreesWithLibTorch) {
  for (const auto& [rows, width] : {std::pair<std::int64_t, std::int64_t>{1, 8},
                                    {3, 264},
                                    {5000, 768},
                                    {197, 192},
                                    {33, 512},
                                    {10, 1024}}) {
    compare_add_norm(rows, width, false, false);
    compare_add_norm(rows, width, true, false);
    compare_add_norm(rows, width, true, true);
  }
}

// A branch whose sum nobody reads, as behind the last block.
TEST_F(AddNormOnGpu, WorksWhereOnlyTheNormalisedGoesOn) {
  Parameters p({random({64}), random({64})});
  const at::Tensor x0 = random({6, 64}), b0 = random({6, 64});
  const at::Tensor g0 = random({6, 64});
  const at::Tensor x = reference(x0), b = reference(b0);
  at::layer_norm(x + b, {64}, p.theirs[0], p.theirs[1], 1e-5)
      .backward(g0.to(at::kDouble));
  const Autocast autocast;
  const at::Tensor x32 = input(x0, at::kFloat), b16 = input(b0, at::kBFloat16);
  add_norm({.x = x32, .branch = b16, .weight = p.ours(0), .bias = p.ours(1)})
      .output.backward(on_gpu(g0, at::kBFloat16));
  EXPECT_LT(distance(x32.grad(), x.grad()), 1e-5);
  EXPECT_LT(distance(b16.grad(), b.grad()), kBf16Once);
  p.expect_grads(1, kFp32Sum);
}

TEST_F(AddNormOnGpu, LeavesWideRowsToLibTorch) {
  Parameters p({random({2048}), random({2048})});
  const Autocast autocast;
  EXPECT_FALSE(has_add_norm_kernel({.x = on_gpu(random({2, 2048}), at::kFloat),
                                    .weight = p.ours(0),
                                    .bias = p.ours(1)}));
}

TEST_F(BiasGeluOnGpu, AgreesWithLibTorch) {
  for (const bool tanh : {false, true})
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{1, 8},
          {33, 264},
          {1000, 3072}}) {
      SCOPED_TRACE(::testing::Message()
                   << rows << " x " << columns << " tanh " << tanh);
      Parameters p({random({columns})});
      const at::Tensor x0 = random({rows, columns}) * 2;
      const at::Tensor g0 = random({rows, columns});
      const at::Tensor x = reference(x0);
      const at::Tensor y = at::gelu(x + p.theirs[0], tanh ? "tanh" : "none");
      y.backward(g0.to(at::kDouble));
      expect_grads_of_steps(p, kFp32Sum, [&, tanh = tanh] {
        const Autocast autocast;
        const at::Tensor x16 = input(x0, at::kBFloat16);
        ASSERT_TRUE(has_bias_gelu_kernel(x16, p.ours(0)));
        const at::Tensor y16 = bias_gelu(x16, p.ours(0), tanh);
        y16.backward(on_gpu(g0, at::kBFloat16));
        EXPECT_LT(distance(y16, y), kBf16Once);
        EXPECT_LT(distance(x16.grad(), x.grad()), kBf16Once);
      });
    }
}

TEST_F(EmbeddingOnGpu, AddsUpTheRowsOfEachToken) {
  for (const std::int64_t vocab : {3, 50, 9000}) {
    SCOPED_TRACE(vocab);
    Parameters p({random({vocab, 100})});
    const at::Tensor tokens = at::randint(vocab, {4, 1300}, at::kLong);
    const at::Tensor g0 = random({4, 1300, 100});
    at::embedding(p.theirs[0], tokens).backward(g0.to(at::kDouble));
    expect_grads_of_steps(p, kFp32Sum, [&] {
      const Autocast autocast;
      const at::Tensor y = embed(p.ours(0), tokens.to(gpu().torch()));
      y.backward(on_gpu(g0, at::kFloat));
      EXPECT_EQ(distance(y, at::embedding(p.theirs[0], tokens)), 0);
    });
  }
}

}  // namespace
}  // namespace lockstep
