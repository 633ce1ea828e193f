// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's operations in fp64 on the CPU.
#include "lockstep/model/layers.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include "lockstep/model/batch_norm.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using NormOnGpu = GpuTest;

struct NormPassed {
  at::Tensor output, input, residual, weight, bias, mean, var, batches;
};

// With a residual our kernel takes the cut from its bf16 output, which rounds
// what lies within 1/64 under 6 up to it; so does this.
at::Tensor activated(const at::Tensor& normed, const at::Tensor& residual,
                     Activation activation) {
  if (activation == Activation::none)
    return residual.defined() ? normed + residual : normed;
  const double cap = activation == Activation::relu6 ? 6 : 1e30;
  const at::Tensor z = residual.defined() ? normed + residual : normed;
  const at::Tensor seen =
      residual.defined() ? z.to(at::kBFloat16).to(at::kDouble) : z;
  const at::Tensor passes = seen.gt(0).logical_and(seen.lt(cap));
  return at::where(passes, z, z.clamp(0, cap).detach());
}

NormPassed pass_norm(const at::Tensor& x0, const at::Tensor& r0,
                     const at::Tensor& g, Activation activation, bool ours) {
  const auto option =
      ours ? at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16)
           : at::TensorOptions().dtype(at::kDouble);
  const auto place = [&](const at::Tensor& t) {
    return t.to(option)
        .contiguous(at::MemoryFormat::ChannelsLast)
        .detach()
        .requires_grad_();
  };
  BatchNorm2d norm(x0.size(1));
  {
    const at::NoGradGuard no_grad;
    norm->weight.copy_(at::linspace(0.5, 2, x0.size(1)));
    norm->bias.copy_(at::linspace(-1, 1, x0.size(1)));
  }
  norm->to(option.device());
  if (!ours) norm->to(at::kDouble);
  const at::Tensor x = place(x0);
  const at::Tensor r = r0.defined() ? place(r0) : at::Tensor();
  EXPECT_EQ(has_norm_kernel(layer_of(*norm), x, r), ours);
  const auto residual = [&]() -> const at::Tensor& { return r; };
  const at::Tensor y = ours ? norm_activation(norm, x, activation, residual)
                            : activated(norm->forward(x), r, activation);
  y.backward(place(g).detach());
  return {y,
          x.grad(),
          r.defined() ? r.grad() : at::Tensor(),
          norm->weight.grad(),
          norm->bias.grad(),
          norm->running_mean,
          norm->running_var,
          norm->num_batches_tracked};
}

void compare_norm(at::IntArrayRef sizes, Activation activation, bool residual) {
  SCOPED_TRACE(::testing::Message()
               << "sizes " << sizes << " activation "
               << static_cast<int>(activation) << " residual " << residual);
  const at::Tensor x = (random(sizes) / 2 + 3).to(at::kBFloat16);
  const at::Tensor r = residual ? random(sizes) : at::Tensor();
  const at::Tensor g = random(sizes);
  const NormPassed ours = pass_norm(x, r, g, activation, true);
  const NormPassed theirs = pass_norm(x, r, g, activation, false);
  EXPECT_LT(distance(ours.output, theirs.output), kBf16Once);
  EXPECT_LT(distance(ours.mean, theirs.mean), 1e-5);
  EXPECT_LT(distance(ours.var, theirs.var), 1e-4);
  EXPECT_EQ(ours.batches.item<std::int64_t>(), 1);
  // Outputs that round to another side of the cut move single gradients.
  EXPECT_LT(distance(ours.weight, theirs.weight), 2e-2);
  EXPECT_LT(distance(ours.bias, theirs.bias), 2e-2);
  EXPECT_LT(distance(ours.input, theirs.input), 2e-2);
  if (residual) {
    EXPECT_LT(distance(ours.residual, theirs.residual), 2e-2);
  }
}

TEST_F(NormOnGpu, AgreesWithLibTorch) {
  for (const Activation a :
       {Activation::none, Activation::relu, Activation::relu6})
    for (const bool residual : {false, true}) {
      compare_norm({4, 64, 32, 32}, a, residual);
      compare_norm({3, 24, 7, 5}, a, residual);
      compare_norm({2, 1280, 7, 7}, a, residual);
      compare_norm({1, 8, 1, 2}, a, residual);
    }
}

struct Shifted {
  at::Tensor output, input, bias, mean, var;
};

// A norm without a scale, a bias that counts eight times, GELU.
Shifted shifted(const at::Tensor& x0, const at::Tensor& b0, const at::Tensor& g,
                bool ours) {
  const auto option =
      ours ? at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16)
           : at::TensorOptions().dtype(at::kDouble);
  const auto image = [&](const at::Tensor& t) {
    return t.to(option).contiguous(at::MemoryFormat::ChannelsLast).detach();
  };
  BatchNorm2d norm(torch::nn::BatchNorm2dOptions(x0.size(1))
                       .affine(false)
                       .momentum(0.4)
                       .eps(1e-12));
  norm->to(option.device());
  if (!ours) norm->to(at::kDouble);
  const at::Tensor x = image(x0).requires_grad_();
  const at::Tensor b =
      b0.to(option.dtype(ours ? at::kFloat : at::kDouble)).requires_grad_();
  const at::Tensor y = norm_shift_gelu(norm, x, b, 8);
  EXPECT_EQ(std::string(y.grad_fn()->name()).find("NormActivation") !=
                std::string::npos,
            ours)
      << y.grad_fn()->name();
  y.backward(image(g));
  return {y, x.grad(), b.grad(), norm->running_mean, norm->running_var};
}

TEST_F(NormOnGpu, WithGeluAndABiasThatCountsEightTimesAgreesWithLibTorch) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{8, 64, 15, 15},
        {4, 256, 3, 3},
        {3, 24, 7, 5}}) {
    SCOPED_TRACE(::testing::Message() << at::IntArrayRef(sizes));
    const at::Tensor x = (random(sizes) / 2 + 1).to(at::kBFloat16);
    const at::Tensor b = random({sizes[1]}) / 8;
    const at::Tensor g = random(sizes);
    const Shifted a = shifted(x, b, g, true), e = shifted(x, b, g, false);
    EXPECT_LT(distance(a.output, e.output), kBf16Once);
    EXPECT_LT(distance(a.mean, e.mean), 1e-5);
    EXPECT_LT(distance(a.var, e.var), 1e-4);
    EXPECT_LT(distance(a.bias, e.bias), 1e-2);
    EXPECT_LT(distance(a.input, e.input), 1e-2);
  }
}

// A plain sum of squares would lose this variance.
TEST_F(NormOnGpu, KnowsTheVarianceOfNumbersFarFromZero) {
  const at::Tensor x = (random({8, 16, 9, 9}) + 1000).to(at::kBFloat16);
  const at::Tensor g = random(x.sizes());
  const NormPassed ours = pass_norm(x, {}, g, Activation::none, true);
  const NormPassed theirs = pass_norm(x, {}, g, Activation::none, false);
  EXPECT_LT(distance(ours.var, theirs.var), 1e-4);
  EXPECT_LT(distance(ours.output, theirs.output), kBf16Once);
}

TEST_F(NormOnGpu, KeepsWhatIsNotANumber) {
  at::Tensor x = random({2, 16, 4, 4});
  x[0][3][1][1] = std::nan("");
  const NormPassed out =
      pass_norm(x, {}, random({2, 16, 4, 4}), Activation::relu, true);
  EXPECT_TRUE(out.output.select(1, 3).isnan().all().item<bool>());
  EXPECT_FALSE(out.output.select(1, 2).isnan().any().item<bool>());
}

TEST_F(NormOnGpu, LeavesEvaluationToLibTorch) {
  torch::nn::BatchNorm2d norm(16);
  norm->to(at::kCUDA);
  norm->eval();
  const at::Tensor x =
      random({2, 16, 4, 4})
          .to(at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16))
          .contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_FALSE(has_norm_kernel(layer_of(*norm), x, {}));
}

}  // namespace
}  // namespace lockstep
