// SPDX-License-Identifier: Apache-2.0
// Gradient clipping by the global norm: one pass to measure, none to scale,
// since the update multiplies by `grad_scale` on its way.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

class FlatParams;

// Euclidean norm of all gradients together. Waits for the device.
double grad_norm(FlatParams& params);

// The factor that brings `norm` down to `max_norm`, as torch's clip_grad_norm_
// computes it; 1 when it is below, or when max_norm is 0 (never clip).
double clip_scale(double norm, double max_norm);

// The same as a scalar on the device, without waiting for it.
at::Tensor clip_scale_on_device(FlatParams& params, double max_norm);

}  // namespace lockstep
