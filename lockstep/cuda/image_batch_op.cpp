// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/image_batch_op.h"

#include <ATen/ATen.h>

#include "lockstep/core/error.h"
#include "lockstep/cuda/image_batch.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

ImageBatchSizes image_batch_sizes(const ImageBatch& b) {
  const auto n = [&](std::int64_t i) {
    return static_cast<int>(b.inputs.size(i));
  };
  const bool last = b.inputs.is_contiguous(at::MemoryFormat::ChannelsLast);
  check(last || b.inputs.is_contiguous(), "a batch of images fills its memory");
  return {n(0), n(2), n(3), b.reflect, last};
}

ImageBatchNumbers numbers_of(const ImageBatch& b) {
  ImageBatchNumbers n = {};
  for (std::size_t c = 0; c < 3; ++c)
    n.gain[c] = b.gain[c], n.white[c] = b.white[c], n.offset[c] = b.offset[c];
  return n;
}

}  // namespace

void image_batch_on_gpu(const ImageBatch& b) {
  check(is_aligned(b.order) && b.order.is_contiguous(),
        "an order is read four words at once");
  const ImageBatchFrom from{reinterpret_cast<const std::uint32_t*>(
                                b.pixels.const_data_ptr<std::uint8_t>()),
                            b.classes.const_data_ptr<std::int64_t>(),
                            reinterpret_cast<const ImagePlace*>(
                                b.order.const_data_ptr<std::int32_t>())};
  auto* targets = b.targets.data_ptr<std::int64_t>();
  const cudaStream_t stream = stream_of(b.inputs);
  if (b.inputs.scalar_type() == at::kBFloat16)
    launch_image_batch(image_batch_sizes(b), numbers_of(b), from,
                       bf16_of(b.inputs), targets, stream);
  else
    launch_image_batch(image_batch_sizes(b), numbers_of(b), from,
                       b.inputs.data_ptr<float>(), targets, stream);
}

}  // namespace lockstep
