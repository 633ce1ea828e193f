// SPDX-License-Identifier: Apache-2.0
// torch's BatchNorm2d, to the bit and by the same names, which a strategy can
// tell to take its statistics over the samples of all ranks. A module of one's
// own that shall allow this uses it in place of torch::nn::BatchNorm2d.
#pragma once

#include <torch/nn/modules/batchnorm.h>

#include <functional>
#include <vector>

namespace lockstep {

class BatchNorm2dImpl final : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  // Used in training mode instead of torch's own, once set.
  using Training =
      std::function<at::Tensor(BatchNorm2dImpl&, const at::Tensor&)>;
  void train_with(Training training) { training_ = std::move(training); }
  bool is_taken_over() const { return training_ && is_training(); }

  at::Tensor forward(const at::Tensor& x) {
    if (is_taken_over()) return training_(*this, x);
    return torch::nn::BatchNorm2dImpl::forward(x);
  }

 private:
  Training training_;
};

// [batch, channels, height, width] -> the same
class BatchNorm2d final : public torch::nn::ModuleHolder<BatchNorm2dImpl> {
 public:
  using torch::nn::ModuleHolder<BatchNorm2dImpl>::ModuleHolder;
  using Impl = BatchNorm2dImpl;
};

// Those of a module, in the order of registration. Works for a module on the
// stack too, which torch's modules() does not.
inline std::vector<BatchNorm2dImpl*> batch_norms(torch::nn::Module& module) {
  std::vector<BatchNorm2dImpl*> out;
  if (auto* self = module.as<BatchNorm2dImpl>()) out.push_back(self);
  for (const auto& part : module.modules(/*include_self=*/false))
    if (auto* norm = part->as<BatchNorm2dImpl>()) out.push_back(norm);
  return out;
}

}  // namespace lockstep
