// SPDX-License-Identifier: Apache-2.0
// A module of one's own, trained with ddp:
//   ./own_model                 two ranks as threads of this process
//   mpirun -n 2 ./own_model     two processes, the same numbers to the bit
#include <lockstep/comm/launcher.h>
#include <lockstep/comm/mpi_group.h>
#include <lockstep/comm/thread_group.h>
#include <lockstep/strategy/replica.h>
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return out(torch::relu(hidden(x))).squeeze(1);
  }
  torch::nn::Linear hidden =
      register_module("hidden", torch::nn::Linear(8, 32));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(32, 1));
};

// Ten samples a batch; rank r of n takes every n-th of them.
std::pair<torch::Tensor, torch::Tensor> batch_of(int step, lockstep::Group& g) {
  auto random = at::make_generator<at::CPUGeneratorImpl>(std::uint64_t(step));
  const auto x = torch::randn({10, 8}, random);
  const auto own = torch::arange(g.rank(), 10, g.size());
  return {x.index_select(0, own), x.sum(1).tanh().index_select(0, own)};
}

void train(lockstep::Group& group) {
  Net net;
  {
    // torch's default generator is one for all threads: draw from our own.
    auto random = at::make_generator<at::CPUGeneratorImpl>(std::uint64_t(1));
    const torch::NoGradGuard no_grad;
    for (auto& p : net.parameters()) p.normal_(0, 0.3, random);
  }
  lockstep::Replica replica(net, group);  // rank 0's weights are everybody's
  torch::optim::Adam optimizer(net.parameters(), 0.01);
  for (int step = 0; step <= 600; ++step) {
    const auto [x, y] = batch_of(step, group);
    const auto loss = torch::mse_loss(net.forward(x), y);
    replica.zero_grads();
    // Sent while backward goes on; weighed by this rank's share of the batch.
    replica.backward(loss, double(x.size(0)) / 10);
    optimizer.step();
    if (step % 300 != 0) continue;
    auto mean = loss.detach() * (double(x.size(0)) / 10);
    group.run({.op = lockstep::Collective::all_reduce, .tensor = mean});
    if (group.rank() == 0)
      std::printf("step %d  loss %.9f\n", step, mean.item<double>());
  }
}

int main() {
  if (lockstep::find_launcher().kind == lockstep::LauncherKind::none)
    lockstep::run_ranks(2, {}, train);
  else
    lockstep::run_mpi_ranks({}, train);
}
