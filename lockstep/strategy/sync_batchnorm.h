// SPDX-License-Identifier: Apache-2.0
// BatchNorm over the samples of all ranks: mean and variance are those of the
// whole batch, however unevenly it is shared out, and gradients flow through
// them. The same values as one rank with all samples.
#pragma once

#include "lockstep/measure/recorder.h"
#include "lockstep/model/module.h"

namespace lockstep {

class Group;

// What a step's time before and after a layer's message counts as.
struct NormSpans {
  Span forward = Span::forward, backward = Span::backward;
};

// From now on each forward and backward pass in training mode is collective;
// group and recorder outlive them. Error{Fault::config} for torch's own
// BatchNorm, which cannot be told to, and for a module without any.
void synchronise_batchnorm(torch::nn::Module& module, Group& group,
                           Recorder& recorder, NormSpans spans = {});

}  // namespace lockstep
