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

std::int64_t numel(const Shape& shape);

struct ParamInfo {
  std::string name;  // as the module's state dict names it
  Shape shape;
  std::int64_t numel = 0;
  std::size_t layer = 0;  // position in WorkPlan::layers
  // True for parameters of one dimension, normalisation and biases: weight
  // decay may skip them.
  bool norm_or_bias = false;
};

// One operation of forward. Operations that only look at memory another way
// (flatten, transpose, split) have no row.
struct LayerWork {
  std::string name;  // path of the submodule, "layer1.0.conv1"
  std::string type;  // as torch names it, "Conv2d"; "Add", "Concat", "Mean"
                     // and "Attention" are functions
  Shape output;      // of one sample
  std::int64_t params = 0;
  std::string shares = {};  // the row whose weight it uses once more, or none
  std::int64_t buffer_numel = 0;  // running statistics
  // Of one sample. Multiplications and additions of convolutions, fully
  // connected layers and attention, a multiply-add counts two; element-wise
  // work counts nothing, it is bound by input_numel and output_numel.
  double forward_flops = 0;
  double backward_flops = 0;  // gradients of input (where needed) and weights
  std::int64_t input_numel = 0;   // elements one sample reads
  std::int64_t output_numel = 0;  // elements one sample writes
  // Elements of one sample that stay in memory for backward because of this
  // row: an output is counted once, however many rows need it.
  std::int64_t kept_numel = 0;
  std::int64_t kept_indices = 0;  // int64, of max-pooling
};

struct WorkPlan {
  std::string model;
  Shape input;                    // of one sample
  bool tokens = false;            // inputs are int64 tokens, else float32
  std::vector<LayerWork> layers;  // in the order of forward
  std::vector<ParamInfo> params;  // in the order of named_parameters()

  std::int64_t param_count() const;
  std::int64_t param_bytes() const;   // fp32
  std::int64_t buffer_bytes() const;  // fp32
  double forward_flops() const;       // of one sample
  double backward_flops() const;
  // Bytes one sample leaves on the device for backward, the loss's too.
  std::int64_t activation_bytes(Precision precision) const;
  // What a step sends for each FLOP that one sample costs, forward and
  // backward: the higher, the sooner the network chokes.
  double param_bytes_per_flop() const;
};

// The settings with `classes`, `image_px` and `patch_px` filled in where they
// are 0: as many classes as the data the model was made for has.
ModelConfig with_own_sizes(ModelConfig config);

// What one sample must look like: [1, 12000], [3, 224, 224], [context].
Shape input_shape(const ModelConfig& config);

// `classes` of the config must be set (the caller takes it from the data).
// Error{Fault::config} for sizes that do not fit together.
WorkPlan plan_work(const ModelConfig& config);

// The word of the setting: "resnet18".
std::string model_name(ModelKind kind);

// What training holds in device memory at a batch size, part by part.
struct MemoryNeed {
  std::int64_t param_bytes = 0;  // and buffers
  std::int64_t cast_bytes = 0;   // copies of the weights in bf16
  std::int64_t grad_bytes = 0, optim_bytes = 0;
  std::int64_t activation_bytes = 0, input_bytes = 0;
  std::int64_t total_bytes() const;
};
MemoryNeed memory_need(const WorkPlan& plan, const OptimConfig& optim,
                       Precision precision, std::int64_t batch);

}  // namespace lockstep
