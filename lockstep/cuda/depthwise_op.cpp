// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/depthwise_op.h"

#include <ATen/ATen.h>

#include "lockstep/cuda/depthwise.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

DepthwiseSizes depthwise_sizes(const at::Tensor& x, std::int64_t stride) {
  const auto n = [](std::int64_t i) { return static_cast<int>(i); };
  return {n(x.size(0)), n(x.size(1)), n(x.size(2)), n(x.size(3)), n(stride)};
}

}  // namespace

bool has_depthwise_on_gpu(const at::Tensor& x, std::int64_t stride) {
  return has_depthwise_kernel(depthwise_sizes(x, stride)) && is_aligned(x);
}

at::Tensor depthwise_forward_on_gpu(const at::Tensor& x,
                                    const at::Tensor& weight,
                                    std::int64_t stride) {
  const DepthwiseSizes s = depthwise_sizes(x, stride);
  const at::Tensor w = weight.contiguous();
  const at::Tensor out =
      at::empty({s.batch, s.channels, s.out_height(), s.out_width()},
                x.options().memory_format(at::MemoryFormat::ChannelsLast));
  depthwise_forward(s, bf16_of(x), w.const_data_ptr<float>(), bf16_of(out),
                    stream_of(x));
  return out;
}

at::Tensor depthwise_backward_on_gpu(const at::Tensor& x,
                                     const at::Tensor& weight,
                                     const at::Tensor& grad,
                                     std::int64_t stride, bool input_too,
                                     const at::Tensor& weight_grad) {
  const DepthwiseSizes s = depthwise_sizes(x, stride);
  const at::Tensor w = weight.contiguous();
  const at::Tensor g =
      grad.to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor room = at::empty({depthwise_room_floats(s)}, float_room(x));
  depthwise_weight_gradient(s, bf16_of(x), bf16_of(g),
                            weight_grad.data_ptr<float>(),
                            room.data_ptr<float>(), stream_of(x));
  if (!input_too) return {};
  const at::Tensor out = at::empty_like(x);
  depthwise_data_gradient(s, bf16_of(g), w.const_data_ptr<float>(),
                          bf16_of(out), stream_of(x));
  return out;
}

}  // namespace lockstep
