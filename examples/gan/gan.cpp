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

// Ranks that are threads share torch's own generator, and who asks first would
// decide: weights are drawn from the rank's.
torch::nn::Sequential layers(std::int64_t in, std::int64_t out,
                             at::Generator& random) {
  using torch::nn::Functional;
  const torch::NoGradGuard no_grad;
  torch::nn::Sequential made(torch::nn::Linear(in, 32), Functional(torch::relu),
                             torch::nn::Linear(32, out));
  for (torch::Tensor& p : made->parameters()) p.uniform_(-0.3, 0.3, random);
  return made;
}

torch::Tensor real_points(at::Generator& random) {
  const auto angle = torch::rand({kBatch}, random) * (2 * M_PI);
  return torch::stack({angle.cos(), angle.sin()}, 1);
}

double radius_of(torch::nn::Sequential& make, at::Generator& random) {
  const torch::NoGradGuard no_grad;
  const auto made = make->forward(torch::randn({1000, 4}, random));
  return made.norm(2, 1).mean().item<double>();
}

torch::Tensor loss_of(const torch::Tensor& score, double label) {
  return torch::binary_cross_entropy_with_logits(
      score, torch::full_like(score, label));
}

void train(lockstep::Group& group) {
  auto random =
      at::make_generator<at::CPUGeneratorImpl>(std::uint64_t(group.rank()));
  auto make = layers(4, 2, random), judge = layers(2, 1, random);
  lockstep::Replica generator(*make, group), discriminator(*judge, group);
  torch::optim::Adam make_better(make->parameters(), 2e-3);
  torch::optim::Adam judge_better(judge->parameters(), 2e-3);
  const double before = radius_of(make, random);
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
  const double after = radius_of(make, random);
  if (group.rank() == 0)
    std::printf("mean radius of the made points: %.3f, before training %.3f\n",
                after, before);
}

}  // namespace

int main() { lockstep::run_ranks(2, {}, train); }
