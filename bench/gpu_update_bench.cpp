// SPDX-License-Identifier: Apache-2.0
// Each rule's update on a GPU against its floor: the bytes it must move, at the
// rate of a plain copy in the same run. Prints a table; no arguments.
#include <torch/types.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "lockstep/core/clock.h"
#include "lockstep/device/device.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {
namespace {

constexpr int kUpdates = 50, kRounds = 7;

struct Row {
  const char* name;
  OptimConfig optim;
  double floats;  // read or written of a parameter, its gradient's zero too
};

const std::vector<Row>& rules() {
  static const std::vector<Row> rows = {
      {"sgd", {.kind = OptimKind::sgd, .momentum = 0.9}, 6},
      {"adamw", {.kind = OptimKind::adamw}, 8},
      {"lars", {.kind = OptimKind::lars, .momentum = 0.9}, 8},
      {"lamb", {.kind = OptimKind::lamb}, 11}};
  return rows;
}

// The median of some rounds, in seconds for one.
double seconds_of(Device& device, const std::function<void()>& one) {
  for (int i = 0; i < 5; ++i) one();
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    device.synchronize();
    const double begin_s = now_s();
    for (int i = 0; i < kUpdates; ++i) one();
    device.synchronize();
    rounds.push_back((now_s() - begin_s) / kUpdates);
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

double copied_bytes_per_s(Device& device) {
  const at::Tensor from = at::ones({1 << 28}).to(device.torch());
  const at::Tensor to = at::empty_like(from);
  const double s = seconds_of(device, [&] { to.copy_(from); });
  return 2.0 * static_cast<double>(from.nbytes()) / s;
}

void measure(const char* name, const ModelConfig& config, Device& device,
             double peak_bytes_per_s) {
  for (const Row& row : rules()) {
    Model model = make_model(config);
    model.module->to(device.torch());
    FlatParams params(*model.module);
    OptimConfig optim = row.optim;
    optim.weight_decay = 0.01;
    Optimizer optimizer(optim, params, device);
    params.grads().fill_(1e-3);
    const double s = seconds_of(device, [&] { optimizer.step(1e-6); });
    const double bytes =
        4 * row.floats * static_cast<double>(params.values().numel());
    std::printf("%-10s %-6s %8.1f us %8.1f MB %8.2f TB/s %6.0f %%\n", name,
                row.name, s * 1e6, bytes / 1e6, bytes / s / 1e12,
                100 * bytes / s / peak_bytes_per_s);
  }
}

}  // namespace
}  // namespace lockstep

int main() {
  using namespace lockstep;
  try {
    const auto device = open_device("cuda");
    const double peak = copied_bytes_per_s(*device);
    std::printf("# a copy of 1 GiB moves %.2f TB/s; the last column is of it\n",
                peak / 1e12);
    measure("resnet18", {.kind = ModelKind::resnet18, .classes = 10}, *device,
            peak);
    measure("gpt",
            {.kind = ModelKind::gpt,
             .vocab = 50257,
             .context = 1024,
             .layers = 12,
             .heads = 12,
             .width = 768},
            *device, peak);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_update_bench: %s\n", error.what());
    return 1;
  }
}
