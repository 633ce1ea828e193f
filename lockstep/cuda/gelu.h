// SPDX-License-Identifier: Apache-2.0
// GELU of a product and its bias, and the way back with the bias's gradient:
// each reads and writes the widest activations of a transformer once.
#pragma once

#include "lockstep/cuda/columns.h"

namespace lockstep {

enum class GeluKind { erf, tanh };

// output = gelu(x + bias); bias may be null.
void launch_gelu(const ColumnSizes& s, GeluKind kind, const __nv_bfloat16* x,
                 const float* bias, __nv_bfloat16* output, cudaStream_t stream);

// x_grad = grad * gelu'(x + bias), and its sum over rows where there is a bias.
// `room` holds column_parts(s) * columns floats.
void launch_gelu_backward(const ColumnSizes& s, GeluKind kind,
                          const __nv_bfloat16* grad, const __nv_bfloat16* x,
                          const float* bias, __nv_bfloat16* x_grad, float* room,
                          float* bias_grad, cudaStream_t stream);

}  // namespace lockstep
