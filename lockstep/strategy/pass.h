// SPDX-License-Identifier: Apache-2.0
// Forward, loss and backward of a rank's samples, in the precision that was
// asked for: what every strategy repeats.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "lockstep/config/train.h"
#include "lockstep/data/loader.h"
#include "lockstep/model/model.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {

class Buckets;
class FlatBuffers;
class Messages;

// The batch on the device, in the memory order that was asked for.
Batch to_device(const Batch& batch, c10::Device device,
                const TrainConfig& config);

// Logits in fp32. bf16 runs under autocast: parameters stay fp32.
at::Tensor forward(const Model& model, const at::Tensor& inputs,
                   const TrainConfig& config);

// Number of predictions that are right, as a scalar on the device.
at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& targets);

// Where the backward of a pass begins, and with which gradient; undefined:
// with 1.
struct PassRoot {
  at::Tensor from, grad;
  void backward() const { from.backward(grad); }
};

// Forward and loss of one pass, weighed by its share of `global_samples`. Adds
// its loss and its right predictions to `outcome`.
PassRoot forward_pass(const StrategyContext& context, const Batch& pass,
                      std::int64_t global_samples, StepOutcome& outcome);

// Forward, loss and backward of each pass that has samples, each weighed by its
// share of the global batch. `before_last` runs before the last backward, not
// at all when no pass has samples. Cuts the step after forward and backward.
StepOutcome run_passes(const StrategyContext& context, const StepInput& input,
                       const std::function<void()>& before_last = {});

// As above, with gradients that leave in buckets while the last backward runs,
// or after it in a step that measure.hold_every holds back; all have left
// when it returns.
StepOutcome run_passes(const StrategyContext& context, const StepInput& input,
                       Buckets& buckets);

// Whether the step compares the gradients of its passes: it measures its noise
// and there are no other ranks to compare with.
bool compares_passes(const StrategyContext& context, const StepInput& input);
// One of them ran backward and gradients are settled. `more`: another follows.
void note_pass(const StrategyContext& context, const StepInput& input,
               const Batch& pass, bool more);
// Of a step that measures its noise: this rank's gradients have left, those of
// all its passes together.
void note_sent(const StepInput& input);

// Rank 0's parameters and running statistics to every rank.
void broadcast_from_0(const StrategyContext& context,
                      const FlatBuffers& buffers);

// Rank 0's running statistics to every rank, before a step and as planned.
void send_buffers(const StrategyContext& context, const FlatBuffers& buffers,
                  const CommPlan& plan, Messages& messages);

// What the update multiplies gradients by so that their norm stays within
// train.clip_norm; 1 when there is no limit.
double clip(const StrategyContext& context);

}  // namespace lockstep
