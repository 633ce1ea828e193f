// SPDX-License-Identifier: Apache-2.0
// Our fully connected layer against its definition, and what a direct gradient
// promises to autograd and the optimiser.
#include "lockstep/kernels/linear.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/types.h>

#include "lockstep/kernels/direct_grad.h"
#include "tests/kernels/expect_close.h"

namespace lockstep {
namespace {

struct LinearCase {
  std::int64_t batch, in, out;
};

const LinearCase kLinearCases[] = {{1, 1, 1},      {3, 15, 7},
                                   {10, 64, 12},   {10, 700, 31},
                                   {32, 1040, 65}, {17, 33, 100}};

TEST(Linear, BothPassesFollowTheDefinitionForEveryInstructionSet) {
  for (const LinearCase& c : kLinearCases)
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa) + ", in " + std::to_string(c.in));
      const at::Tensor x = torch::randn({c.batch, c.in});
      const at::Tensor w = torch::randn({c.out, c.in});
      const at::Tensor b = torch::randn({c.out});
      const at::Tensor g = torch::randn({c.batch, c.out});
      const auto wide = torch::kDouble;
      expect_close(small_batch_forward(x, w, b, isa),
                   x.to(wide).mm(w.to(wide).t()) + b.to(wide));
      expect_close(small_batch_forward(x, w, {}, isa),
                   x.to(wide).mm(w.to(wide).t()));
      // One float further every vector store is unaligned.
      for (const int offset : {0, 1}) {
        const at::Tensor buffer = torch::full({c.out * c.in + offset}, 5.0f);
        at::Tensor to =
            buffer.slice(0, offset, buffer.numel()).view({c.out, c.in});
        const at::Tensor product = g.to(wide).t().mm(x.to(wide));
        small_batch_weight_gradient(g, x, to, /*overwrite=*/true, isa);
        expect_close(to, product);
        small_batch_weight_gradient(g, x, to, /*overwrite=*/false, isa);
        expect_close(to, 2 * product);
        if (offset) {
          EXPECT_EQ(buffer[0].item<float>(), 5);
        }
      }
    }
}

TEST(Linear, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const at::Tensor x = torch::randn({10, 500}), w = torch::randn({130, 500});
  std::vector<at::Tensor> out, grad;
  for (const int n : {1, 2, 3}) {
    at::set_num_threads(n);
    out.push_back(small_batch_forward(x, w, {}));
    at::Tensor to = torch::empty({130, 500});
    small_batch_weight_gradient(out[0], x, to, true);
    grad.push_back(to);
  }
  at::set_num_threads(threads);
  for (const int n : {1, 2}) {
    EXPECT_TRUE(torch::equal(out[0], out[static_cast<std::size_t>(n)]));
    EXPECT_TRUE(torch::equal(grad[0], grad[static_cast<std::size_t>(n)]));
  }
}

struct Layer {
  explicit Layer(std::int64_t batch) {
    torch::manual_seed(1);
    x = torch::randn({batch, 20}).requires_grad_();
    weight = torch::randn({6, 20}).requires_grad_();
    bias = torch::randn({6}).requires_grad_();
  }
  void backward(bool ours) {
    const at::Tensor out =
        ours ? linear(x, weight, bias) : at::linear(x, weight, bias);
    out.square().sum().backward();
  }
  at::Tensor x, weight, bias;
};

Layer direct_layer(std::int64_t batch) {
  Layer layer(batch);
  layer.weight.mutable_grad() = torch::zeros({6, 20});
  allow_direct_grad(layer.weight);
  return layer;
}

TEST(Linear, AddsUpOverBackwardPassesAsLibTorchDoes) {
  for (const std::int64_t batch : {4, 40}) {  // our kernel, LibTorch's
    Layer ours = direct_layer(batch), theirs(batch);
    const void* place = ours.weight.grad().data_ptr();
    for (int pass = 0; pass < 2; ++pass) {
      ours.backward(true);
      theirs.backward(false);
    }
    expect_close(ours.weight.grad(), theirs.weight.grad());
    expect_close(ours.x.grad(), theirs.x.grad());
    expect_close(ours.bias.grad(), theirs.bias.grad());
    EXPECT_EQ(ours.weight.grad().data_ptr(), place);
    EXPECT_TRUE(direct_grad_of(ours.weight)->used);
  }
}

TEST(Linear, OverwritesAStaleGradientWhateverIsInIt) {
  for (const std::int64_t batch : {4, 40}) {
    Layer ours = direct_layer(batch), theirs(batch);
    ours.backward(true);
    ours.weight.mutable_grad().fill_(std::nan(""));
    direct_grad_of(ours.weight)->stale = true;
    ours.backward(true);
    theirs.backward(false);
    expect_close(ours.weight.grad(), theirs.weight.grad());
    EXPECT_FALSE(direct_grad_of(ours.weight)->stale);
  }
}

TEST(Linear, AStaleGradientIsZeroToAutogradToo) {
  Layer ours = direct_layer(4), theirs(4);
  ours.backward(true);
  direct_grad_of(ours.weight)->stale = true;
  ours.backward(false);  // the ordinary way adds
  theirs.backward(false);
  expect_close(ours.weight.grad(), theirs.weight.grad());
}

TEST(Linear, AWeightUsedTwiceInOneGraphGetsBothGradients) {
  Layer ours = direct_layer(4), theirs(4);
  direct_grad_of(ours.weight)->used = true;
  direct_grad_of(ours.weight)->stale = true;
  const auto run = [](Layer& l, const at::Tensor& out) {
    (out.square().sum() + at::linear(l.x, l.weight).sin().sum()).backward();
  };
  run(ours, linear(ours.x, ours.weight, ours.bias));
  run(theirs, at::linear(theirs.x, theirs.weight, theirs.bias));
  expect_close(ours.weight.grad(), theirs.weight.grad());
}

TEST(Linear, PostHooksOfTheAccumulatorRunAfterTheGradientIsWritten) {
  struct Count : torch::autograd::FunctionPostHook {
    explicit Count(std::vector<float>* sums, at::Tensor watched)
        : seen(sums), grad(std::move(watched)) {}
    torch::autograd::variable_list operator()(
        const torch::autograd::variable_list& outputs,
        const torch::autograd::variable_list&) override {
      seen->push_back(grad.abs().sum().item<float>());
      return outputs;
    }
    std::vector<float>* seen;
    at::Tensor grad;
  };
  Layer ours = direct_layer(4);
  std::vector<float> sums;
  const auto node = torch::autograd::impl::grad_accumulator(ours.weight);
  node->add_post_hook(std::make_unique<Count>(&sums, ours.weight.grad()));
  ours.backward(true);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0], ours.weight.grad().abs().sum().item<float>());
  EXPECT_GT(sums[0], 0);
}

TEST(Linear, WithoutADirectGradientIsLibTorchs) {
  Layer ours(4), theirs(4);
  ours.backward(true);
  theirs.backward(false);
  EXPECT_TRUE(torch::equal(ours.weight.grad(), theirs.weight.grad()));
}

}  // namespace
}  // namespace lockstep
