// SPDX-License-Identifier: Apache-2.0
// What a model computes, as plain data: a row per layer and the list of its
// parameters, by pure functions of the settings. No torch: `summary` and the
// predictor use it on a laptop; a test compares it with the real module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/config/model.h"
#include "lockstep/config/optim.h"
#include "lockstep/config/train.h"

namespace lockstep {

using Shape = std::vector<std::int64_t>;  // without the batch dimension

struct ParamInfo {
  std::string name;  // as the module's state dict names it
  Shape shape;
  std::int64_t numel = 0;
  std::size_t layer = 0;  // position in WorkPlan::layers
  // True for normalisation parameters and biases: weight decay may skip them.
  bool norm_or_bias = false;
};

struct LayerWork {
  std::string name;  // path of the submodule, "layer1.0.conv1"
  std::string type;  // as torch names it: "Conv2d", "ReLU", "Linear"
  Shape output;      // of one sample
  std::int64_t params = 0;
  std::int64_t buffer_numel = 0;  // running statistics
  double forward_flops = 0;       // of one sample; a multiply-add counts two
  double backward_flops = 0;      // gradients of input and of weights
  std::int64_t output_numel = 0;  // elements one sample leaves for backward
  std::int64_t input_numel = 0;   // elements one sample reads
};

struct WorkPlan {
  std::string model;
  Shape input;                    // of one sample
  std::vector<LayerWork> layers;  // in the order of forward
  std::vector<ParamInfo> params;  // in the module's registration order

  std::int64_t param_count() const;
  std::int64_t param_bytes() const;  // fp32
  double forward_flops() const;      // of one sample
  double backward_flops() const;
  // Bytes one sample leaves on the device for backward, outputs of all layers.
  std::int64_t activation_bytes(Precision precision) const;
};

// `classes` of the config must be set (the caller takes it from the data).
WorkPlan plan_work(const ModelConfig& config);

// What training holds in device memory at a batch size, part by part.
struct MemoryNeed {
  std::int64_t param_bytes = 0, grad_bytes = 0, optim_bytes = 0;
  std::int64_t activation_bytes = 0, input_bytes = 0;
  std::int64_t total_bytes() const;
};
MemoryNeed memory_need(const WorkPlan& plan, const OptimConfig& optim,
                       Precision precision, std::int64_t batch);

}  // namespace lockstep
