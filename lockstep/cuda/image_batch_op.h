// SPDX-License-Identifier: Apache-2.0
// image_batch.h's kernel on tensors, as kernels/gpu_table.h wants it.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

void image_batch_on_gpu(const ImageBatch& batch);

}  // namespace lockstep
