// SPDX-License-Identifier: Apache-2.0
// Batches of images that lie on the device as bytes, four a pixel: gathered,
// cropped, mirrored, turned, made brighter and normalised in one pass.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "lockstep/kernels/image_place.h"

namespace lockstep {

struct ImageBatchSizes {
  int batch, height, width;
  bool reflect, channels_last;
};

struct ImageBatchNumbers {
  float gain[3], white[3], offset[3];
};

// See kernels/image_batch.h. pixels: a word each.
struct ImageBatchFrom {
  const std::uint32_t* pixels;
  const std::int64_t* classes;
  const ImagePlace* order;
};

void launch_image_batch(const ImageBatchSizes& s, const ImageBatchNumbers& n,
                        const ImageBatchFrom& from, float* inputs,
                        std::int64_t* targets, cudaStream_t stream);
void launch_image_batch(const ImageBatchSizes& s, const ImageBatchNumbers& n,
                        const ImageBatchFrom& from, __nv_bfloat16* inputs,
                        std::int64_t* targets, cudaStream_t stream);

}  // namespace lockstep
