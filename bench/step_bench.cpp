// SPDX-License-Identifier: Apache-2.0
// Our side of bench/step.py: one model, one batch, steps on demand. Every line
// on stdin is a number of steps; every answer is a line of JSON.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/json.h"
#include "lockstep/core/version.h"
#include "lockstep/device/device.h"
#include "lockstep/device/memory.h"
#include "lockstep/kernels/update.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {
namespace {

// The settings bench/torch_worker.py uses too.
struct Setup {
  ModelConfig model;
  OptimConfig optim;
  std::vector<std::int64_t> sample;
};

Setup setup_of(const std::string& model) {
  const OptimConfig adam{.kind = OptimKind::adam, .lr = 1e-3};
  if (model == "linear")
    return {{.kind = ModelKind::linear, .classes = 10}, adam, {12000}};
  if (model == "conv1d")
    return {{.kind = ModelKind::conv1d, .classes = 10}, adam, {12000}};
  if (model == "resnet18")
    return {{.kind = ModelKind::resnet18, .classes = 10},
            {.kind = OptimKind::sgd,
             .lr = 0.01,
             .momentum = 0.9,
             .weight_decay = 5e-4},
            {3, 32, 32}};
  throw Error(Fault::config, model, "no such model in this bench",
              "linear, conv1d or resnet18");
}

// What the cores can move: v -= lr * g over two arrays larger than the caches,
// two reads and one write an element.
double bandwidth_bytes_per_s() {
  const at::Tensor values = torch::zeros({12'000'000});
  const at::Tensor grads = torch::zeros({12'000'000});
  const UpdateSpan span{.values = values.data_ptr<float>(),
                        .grads = grads.data_ptr<float>(),
                        .numel = values.numel()};
  double best_s = 1e9;
  for (int i = 0; i < 10; ++i) {
    const double begin_s = now_s();
    sgd_update(span, {.lr = 1, .zero_grads = false});
    best_s = std::min(best_s, now_s() - begin_s);
  }
  return 3.0 * 4.0 * static_cast<double>(values.numel()) / best_s;
}

class Bench {
 public:
  Bench(const std::string& model, std::int64_t batch)
      : setup_(setup_of(model)), model_(make_model(setup_.model)) {
    std::vector<std::int64_t> sizes = setup_.sample;
    sizes.insert(sizes.begin(), batch);
    inputs_ = torch::randn(sizes);
    targets_ = torch::randint(setup_.model.classes, {batch}, torch::kLong);
  }

  Json describe() {
    return {{"parameters", params_.values().numel()},
            {"device", device_->info()},
            {"threads", at::get_num_threads()},
            {"lockstep", version_text()},
            {"bandwidth_bytes_per_s", bandwidth_bytes_per_s()}};
  }

  Json run(int steps) {
    Json step_s = Json::array(), forward_s = Json::array(),
         backward_s = Json::array(), optim_s = Json::array();
    float last = 0;
    for (int i = 0; i < steps; ++i) {
      const double t0 = now_s();
      const at::Tensor loss = loss_of(model_.forward(inputs_), targets_, 0);
      const double t1 = now_s();
      loss.backward();
      const double t2 = now_s();
      optimizer_.step(setup_.optim.lr);
      const double t3 = now_s();
      step_s.push_back(t3 - t0);
      forward_s.push_back(t1 - t0);
      backward_s.push_back(t2 - t1);
      optim_s.push_back(t3 - t2);
      last = loss.item<float>();
    }
    return {{"step_s", step_s},
            {"forward_s", forward_s},
            {"backward_s", backward_s},
            {"optim_s", optim_s},
            {"loss", last}};
  }

 private:
  Setup setup_;
  Model model_;
  std::unique_ptr<Device> device_ = open_device("cpu");
  FlatParams params_{*model_.module};
  Optimizer optimizer_{setup_.optim, params_, *device_};
  at::Tensor inputs_, targets_;
};

int serve(const std::string& model, std::int64_t batch, int threads) {
  keep_freed_memory();
  at::set_num_threads(threads);
  torch::manual_seed(1);
  Bench bench(model, batch);
  std::cout << bench.describe().dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << bench.run(std::stoi(line)).dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: step_bench MODEL BATCH THREADS\n");
    return 2;
  }
  try {
    return lockstep::serve(argv[1], std::atoll(argv[2]), std::atoi(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_bench: %s\n", error.what());
    return 1;
  }
}
