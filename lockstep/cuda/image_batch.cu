// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/image_batch.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

__device__ int reflected(int at, int size) {
  if (at < 0) at = -at;
  return at < size ? at : 2 * (size - 1) - at;
}

// One picture of the set, read between its pixels.
struct Picture {
  const std::uint32_t* pixels;
  int height, width;

  __device__ std::uint32_t at(int x, int y) const {
    if (x < 0 || y < 0 || x >= width || y >= height) return 0;
    return pixels[y * width + x];
  }
  // Bilinear, rounded after each direction, weights in 1/256: as on a CPU.
  __device__ std::uint32_t between(int x, int y) const {
    const int left = x >> kFraction, top = y >> kFraction;
    const std::uint32_t fx = (x >> (kFraction - 8)) & 255;
    const std::uint32_t fy = (y >> (kFraction - 8)) & 255;
    const std::uint32_t corner[4] = {at(left, top), at(left + 1, top),
                                     at(left, top + 1), at(left + 1, top + 1)};
    std::uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const auto level = [&](int i) { return (corner[i] >> (8 * c)) & 255u; };
      const std::uint32_t l =
          (level(0) * (256 - fy) + level(2) * fy + 128) >> 8;
      const std::uint32_t r =
          (level(1) * (256 - fy) + level(3) * fy + 128) >> 8;
      word |= (l * (256 - fx) + r * fx + 128) >> 8 << (8 * c);
    }
    return word;
  }
};

__device__ std::uint32_t pixel_of(const Picture& from, const ImagePlace& p,
                                  bool reflect, int x, int y) {
  int from_x = p.x_x * x + p.x_y * y + p.x_0;
  int from_y = p.y_x * x + p.y_y * y + p.y_0;
  if (p.x_y != 0 || p.y_x != 0) return from.between(from_x, from_y);
  from_x >>= kFraction, from_y >>= kFraction;
  if (reflect) {
    from_x = reflected(from_x, from.width);
    from_y = reflected(from_y, from.height);
  }
  return from.at(from_x, from_y);
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
  const ImagePlace p = from.order[sample];
  if (place == 0) targets[sample] = from.classes[p.image];
  const std::uint32_t word = pixel_of(
      {from.pixels + p.image * plane, s.height, s.width}, p, s.reflect, x, y);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const auto level = static_cast<float>((word >> (8 * c)) & 255u);
    const float gain = __fmul_rn(p.brightness, n.gain[c]);
    const float value = fminf(__fmul_rn(level, gain), n.white[c]);
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
