// SPDX-License-Identifier: Apache-2.0
// Our convolution against its plain definition in double, for every
// instruction set, and against LibTorch through autograd.
#include "lockstep/kernels/conv1d.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/nn/functional.h>
#include <torch/types.h>

#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/conv1d_table.h"
#include "tests/kernels/expect_close.h"

namespace lockstep {
namespace {

struct ConvCase {
  std::int64_t batch, in, length, out, taps, padding, pool;
};

// Odd sizes: groups of five and vectors of 4, 8, 16 all have a remainder.
const ConvCase kConvCases[] = {
    {1, 1, 1, 1, 1, 0, 1},      {2, 3, 17, 4, 5, 2, 2},
    {1, 2, 131, 7, 11, 5, 3},   {3, 1, 257, 11, 20, 10, 4},
    {2, 5, 90, 5, 50, 25, 5},   {1, 4, 40, 6, 3, 0, 6},
    {2, 2, 33, 3, 8, 7, 4},     {3, 1, 1000, 6, 200, 100, 4},
    {2, 7, 433, 9, 100, 50, 3}, {1, 2, 300, 3, 129, 0, 5},
};

ConvShape shape_of(const ConvCase& c, std::int64_t pool) {
  return {.batch = c.batch,
          .in = c.in,
          .length = c.length,
          .out = c.out,
          .taps = c.taps,
          .padding = c.padding,
          .pool = pool};
}

struct Tensors {
  explicit Tensors(const ConvCase& c) {
    torch::manual_seed(static_cast<std::uint64_t>(c.batch + c.length));
    input = torch::randn({c.batch, c.in, c.length});
    weight = torch::randn({c.out, c.in, c.taps}) / 4;
    bias = torch::randn({c.out});
    grad = torch::randn({c.batch, c.out, shape_of(c, 0).positions()});
  }
  at::Tensor input, weight, bias, grad;
};

// The definition: out[b][o][p] = bias[o] + sum w[o][i][k] in[b][i][p + k -
// pad].
at::Tensor reference(const at::Tensor& input, const at::Tensor& weight,
                     const at::Tensor& bias, std::int64_t padding) {
  const at::Tensor padded = torch::nn::functional::pad(
      input, torch::nn::functional::PadFuncOptions({padding, padding}));
  const at::Tensor windows = padded.unfold(2, weight.size(2), 1);
  return torch::einsum("bipk,oik->bop", {windows, weight}) + bias.unsqueeze(1);
}

template <class Forward, class Backward>
void compare_conv(const Forward& forward, const Backward& backward) {
  for (const ConvCase& c : kConvCases) {
    const Tensors t(c);
    const auto wide = [](const at::Tensor& leaf) {
      return leaf.to(torch::kDouble).requires_grad_();
    };
    const at::Tensor input = wide(t.input), weight = wide(t.weight),
                     bias = wide(t.bias);
    const at::Tensor want = reference(input, weight, bias, c.padding);
    want.backward(t.grad.to(torch::kDouble));
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa) + ", length " + std::to_string(c.length));
      const ConvForward out =
          forward(shape_of(c, 0), t.input, t.weight, t.bias, isa);
      expect_close(out.output, want.detach());
      const ConvBackward grads =
          backward(shape_of(c, 0), out, t.weight, t.grad, true, isa);
      expect_close(grads.input, input.grad());
      expect_close(grads.weight, weight.grad());
      expect_close(grads.bias, bias.grad());
    }
  }
}

TEST(Conv1dDirect, FollowsTheDefinitionForEveryInstructionSet) {
  compare_conv(direct_forward, direct_backward);
}

TEST(Conv1dSpectral, FollowsTheDefinitionForEveryInstructionSet) {
  compare_conv(spectral_forward, spectral_backward);
}

TEST(Conv1d, TakesTheSpectralMethodForLongKernelsOnly) {
  EXPECT_EQ(best_method({.length = 12000, .taps = 200, .padding = 100}),
            ConvMethod::spectral);
  EXPECT_EQ(best_method({.length = 12000, .taps = 3, .padding = 1}),
            ConvMethod::direct);
  EXPECT_EQ(best_method({.length = 12000, .taps = 513, .padding = 0}),
            ConvMethod::direct);
}

// Gradients of all three through autograd, for a scalar made of the output.
template <class Forward>
std::vector<at::Tensor> with_gradients(const Tensors& t, const Forward& f) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& leaf : {t.input, t.weight, t.bias})
    leaves.push_back(leaf.detach().clone().requires_grad_());
  const at::Tensor out = f(leaves[0], leaves[1], leaves[2]);
  (out * torch::linspace(-1, 2, out.numel()).view_as(out)).sum().backward();
  return {out.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

TEST(Conv1d, IsDifferentiableAsLibTorchIs) {
  for (const ConvCase& c : kConvCases) {
    const Tensors t(c);
    const auto ours = with_gradients(t, [&](auto& x, auto& w, auto& b) {
      return conv1d(x, w, b, c.padding);
    });
    const auto theirs = with_gradients(t, [&](auto& x, auto& w, auto& b) {
      return at::conv1d(x, w, b, 1, c.padding);
    });
    for (std::size_t i = 0; i < ours.size(); ++i)
      expect_close(ours[i], theirs[i]);
  }
}

TEST(Conv1dReluMaxPool1d, IsDifferentiableAsTheThreeLayersAre) {
  for (const ConvCase& c : kConvCases) {
    const Tensors t(c);
    const auto ours = with_gradients(t, [&](auto& x, auto& w, auto& b) {
      return conv1d_relu_max_pool1d(x, w, b, c.padding, c.pool);
    });
    const auto theirs = with_gradients(t, [&](auto& x, auto& w, auto& b) {
      return at::max_pool1d(at::conv1d(x, w, b, 1, c.padding).relu(), c.pool);
    });
    for (std::size_t i = 0; i < ours.size(); ++i)
      expect_close(ours[i], theirs[i]);
  }
}

TEST(Conv1d, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const ConvCase& c :
       {ConvCase{3, 2, 300, 12, 20, 10, 4}, ConvCase{3, 2, 300, 12, 50, 10, 4},
        ConvCase{3, 1, 300, 12, 50, 10, 4}}) {
    const Tensors t(c);
    std::vector<std::vector<at::Tensor>> results;
    for (const int n : {1, 2, 3}) {
      at::set_num_threads(n);
      results.push_back(with_gradients(t, [&](auto& x, auto& w, auto& b) {
        return conv1d_relu_max_pool1d(x, w, b, 10, 4);
      }));
    }
    at::set_num_threads(threads);
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_TRUE(torch::equal(results[0][i], results[1][i]));
      EXPECT_TRUE(torch::equal(results[0][i], results[2][i]));
    }
  }
}

TEST(Conv1d, LeavesOtherTypesAndWidePaddingToLibTorch) {
  const Tensors t({2, 3, 17, 4, 5, 2, 2});
  EXPECT_TRUE(has_conv1d_kernel(t.input, t.weight, 2));
  EXPECT_FALSE(has_conv1d_kernel(t.input, t.weight, 5));
  EXPECT_FALSE(has_conv1d_kernel(t.input.to(torch::kDouble),
                                 t.weight.to(torch::kDouble), 2));
  expect_close(conv1d(t.input, t.weight, t.bias, 6),
               at::conv1d(t.input, t.weight, t.bias, 1, 6));
}

TEST(ReluMaxPool, ANaNIsNotLost) {
  const at::Tensor input = torch::zeros({1, 1, 8});
  input[0][0][2] = std::nan("");
  const at::Tensor out = conv1d_relu_max_pool1d(input, torch::ones({1, 1, 1}),
                                                torch::zeros({1}), 0, 4);
  EXPECT_TRUE(out[0][0][0].isnan().item<bool>());
  EXPECT_EQ(out[0][0][1].item<float>(), 0);
}

}  // namespace
}  // namespace lockstep
