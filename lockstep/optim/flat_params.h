// SPDX-License-Identifier: Apache-2.0
// A module's parameters and gradients as two flat buffers. Each parameter and
// its .grad are views of them, in the module's order and without gaps, so one
// pass updates everything and a bucket of gradients is a range, not a copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/model/module.h"

namespace lockstep {

struct Slice {
  std::string name;
  std::int64_t begin = 0, numel = 0;  // in elements of the flat buffer
  bool norm_or_bias = false;          // weight decay may skip it
};

class FlatParams {
 public:
  // Moves the module's parameters (all fp32, on one device, each with its own
  // memory format) into the flat buffer; the module goes on working with views
  // of it. Shared parameters appear once. Convert and move the module before.
  explicit FlatParams(torch::nn::Module& module);

  const at::Tensor& values() const { return values_; }  // [numel]
  // After backward, call settle_grads() before reading it.
  const at::Tensor& grads() const { return grads_; }  // [numel]
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<at::Tensor>& params() const { return params_; }

  // All parameters in bf16 at once, for kernels that read them so
  // (DirectGrad::half). Whoever calls it does so before every training pass.
  void cast_to_half();

  // Gradients to zero, still views of the flat buffer.
  void zero_grads();

  // After an update gradients count as zero, but those that a kernel writes
  // directly (kernels/direct_grad.h) still hold old numbers until backward
  // overwrites them. This zeroes the ones no backward reached. Cheap when all
  // were. Optimizer::step does it; so must whoever sends gradients.
  void settle_grads();

 private:
  at::Tensor values_, grads_, half_;
  std::vector<Slice> slices_;
  std::vector<at::Tensor> params_;
};

}  // namespace lockstep
