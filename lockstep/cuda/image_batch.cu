// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/image_batch.h"
#include "lockstep/kernels/image_flip.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

__device__ int reflected(int at, int size) {
  if (at < 0) at = -at;
  return at < size ? at : 2 * (size - 1) - at;
}

__device__ void store(float* to, float value) { *to = value; }
__device__ void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16(value);
}

// A thread makes one pixel. What is multiplied and subtracted is rounded as on
// a CPU, each by itself.
template <class Value>
__global__ void __launch_bounds__(kThreads)
    image_batch_kernel(ImageBatchSizes s, ImageBatchNumbers n,
                       ImageBatchFrom from, Value* inputs,
                       std::int64_t* targets) {
  const std::int64_t plane = std::int64_t{s.height} * s.width;
  const std::int64_t i =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.batch * plane) return;
  const std::int64_t sample = i / plane;
  const auto place = static_cast<int>(i % plane);
  const int x = place % s.width, y = place / s.width;
  const int4 o = reinterpret_cast<const int4*>(from.order)[sample];
  if (place == 0) targets[sample] = from.classes[o.x];
  int from_x = (o.w & kFlip ? s.width - 1 - x : x) + o.y;
  int from_y = (o.w & kFlipVertical ? s.height - 1 - y : y) + o.z;
  if (s.reflect) {
    from_x = reflected(from_x, s.width);
    from_y = reflected(from_y, s.height);
  }
  std::uint32_t word = 0;
  if (from_x >= 0 && from_x < s.width && from_y >= 0 && from_y < s.height)
    word = from.pixels[o.x * plane + from_y * s.width + from_x];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const auto level = static_cast<float>((word >> (8 * c)) & 255u);
    const float value = fminf(__fmul_rn(level, n.gain[c]), n.white[c]);
    Value* to = inputs + (s.channels_last ? i * 3 + c
                                          : (sample * 3 + c) * plane + place);
    store(to, __fsub_rn(value, n.offset[c]));
  }
}

template <class Value>
void launch(const ImageBatchSizes& s, const ImageBatchNumbers& n,
            const ImageBatchFrom& from, Value* inputs, std::int64_t* targets,
            cudaStream_t stream) {
  const std::int64_t threads = std::int64_t{s.batch} * s.height * s.width;
  const auto blocks =
      static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  if (blocks == 0) return;
  image_batch_kernel<<<blocks, kThreads, 0, stream>>>(s, n, from, inputs,
                                                      targets);
  cuda_check(cudaGetLastError(), "batch of images");
}

}  // namespace

void launch_image_batch(const ImageBatchSizes& s, const ImageBatchNumbers& n,
                        const ImageBatchFrom& from, float* inputs,
                        std::int64_t* targets, cudaStream_t stream) {
  launch(s, n, from, inputs, targets, stream);
}

void launch_image_batch(const ImageBatchSizes& s, const ImageBatchNumbers& n,
                        const ImageBatchFrom& from, __nv_bfloat16* inputs,
                        std::int64_t* targets, cudaStream_t stream) {
  launch(s, n, from, inputs, targets, stream);
}

}  // namespace lockstep
