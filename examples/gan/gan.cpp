// SPDX-License-Identifier: Apache-2.0
// Two modules, two losses, two optimisers, as in a DCGAN: the generator learns
// a ring of points, the discriminator to tell them from real ones. Each module
// is a replica of its own; a backward sends the gradients of one of them.
#include <lockstep/comm/thread_group.h>
#include <lockstep/strategy/replica.h>
#include <torch/nn.h>
#include <torch/optim/adam.h>

#include <cmath>

namespace {

constexpr std::int64_t kBatch = 64;  // of one rank

torch::nn::Sequential layers(std::int64_t in, std::int64_t out) {
  using torch::nn::Functional;
  return torch::nn::Sequential(torch::nn::Linear(in, 32),
                               Functional(torch::relu),
                               torch::nn::Linear(32, out));
}

torch::Tensor real_points(at::Generator& random) {
  const auto angle = torch::rand({kBatch}, random) * (2 * M_PI);
  return torch::stack({angle.cos(), angle.sin()}, 1);
}

torch::Tensor loss_of(const torch::Tensor& score, double label) {
  return torch::binary_cross_entropy_with_logits(
      score, torch::full_like(score, label));
}

void train(lockstep::Group& group) {
  auto random =
      at::make_generator<at::CPUGeneratorImpl>(std::uint64_t(group.rank()));
  auto make = layers(4, 2), judge = layers(2, 1);
  lockstep::Replica generator(*make, group), discriminator(*judge, group);
  torch::optim::Adam make_better(make->parameters(), 2e-3);
  torch::optim::Adam judge_better(judge->parameters(), 2e-3);
  for (int step = 0; step < 600; ++step) {
    const auto fake = make->forward(torch::randn({kBatch, 4}, random));
    discriminator.zero_grads();
    discriminator.backward(loss_of(judge->forward(real_points(random)), 1) +
                           loss_of(judge->forward(fake.detach()), 0));
    judge_better.step();
    // Reaches the discriminator's gradients too; they are zeroed above before
    // they count again, and are not sent.
    generator.zero_grads();
    generator.backward(loss_of(judge->forward(fake), 1));
    make_better.step();
  }
  const auto radius = make->forward(torch::randn({1000, 4}, random)).norm(2, 1);
  if (group.rank() == 0)
    std::printf("radius of the made points: mean %.3f\n",
                radius.mean().item<double>());
}

}  // namespace

int main() { lockstep::run_ranks(2, {}, train); }
