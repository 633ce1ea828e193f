// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/max_pool_op.h"

#include <ATen/ATen.h>

#include "lockstep/cuda/max_pool.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

constexpr at::MemoryFormat kLast = at::MemoryFormat::ChannelsLast;

PoolSizes pool_sizes(at::IntArrayRef sizes, const PoolWindow& w) {
  const auto n = [](std::int64_t i) { return static_cast<int>(i); };
  return {n(sizes[0]), n(sizes[1]), n(sizes[2]), n(sizes[3]),
          n(w.size),   n(w.stride), n(w.padding)};
}

}  // namespace

bool has_max_pool_on_gpu(const at::Tensor& x, const PoolWindow& window) {
  return (window == kResNetPool || window == kPool2x2 || window == kPool3x3) &&
         x.dim() == 4 && x.scalar_type() == at::kBFloat16 && x.numel() > 0 &&
         x.size(2) + 2 * window.padding >= window.size &&
         x.size(3) + 2 * window.padding >= window.size &&
         x.numel() < std::int64_t{1} << 38 && x.size(1) % 8 == 0 &&
         x.is_contiguous(kLast) && is_aligned(x);
}

MaxPoolForward max_pool_forward_on_gpu(const at::Tensor& x,
                                       const PoolWindow& window) {
  const PoolSizes s = pool_sizes(x.sizes(), window);
  const at::Tensor out =
      at::empty({s.batch, s.channels, s.out_height(), s.out_width()},
                x.options().memory_format(kLast));
  const at::Tensor where = at::empty_like(out, out.options().dtype(at::kByte));
  launch_max_pool(s, bf16_of(x), bf16_of(out), where.data_ptr<std::uint8_t>(),
                  stream_of(x));
  return {.output = out, .where = where};
}

at::Tensor max_pool_backward_on_gpu(const at::Tensor& grad,
                                    const at::Tensor& where,
                                    const PoolWindow& window,
                                    at::IntArrayRef sizes) {
  const at::Tensor g = aligned(grad.to(at::kBFloat16).contiguous(kLast));
  const at::Tensor out = at::empty(sizes, g.options().memory_format(kLast));
  launch_max_pool_backward(pool_sizes(sizes, window), bf16_of(g),
                           where.const_data_ptr<std::uint8_t>(), bf16_of(out),
                           stream_of(g));
  return out;
}

}  // namespace lockstep
