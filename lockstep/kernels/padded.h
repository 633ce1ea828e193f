// SPDX-License-Identifier: Apache-2.0
// Rows of a number of columns that is no multiple of eight (a vocabulary of
// 50,257), stored with room behind each so that all begin at aligned addresses:
// matrix products and our kernels are several times as fast on those.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lockstep {

// Columns with the room behind them.
inline std::int64_t padded_columns(std::int64_t columns) {
  return columns % 8 == 0 ? columns : (columns + 63) / 64 * 64;
}

// [..., columns] as a part of [..., padded_columns(columns)], whose rest holds
// whatever its maker says. Not a view to autograd.
inline at::Tensor without_padding(const at::Tensor& whole,
                                  at::IntArrayRef sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  std::int64_t next = whole.size(-1);
  for (std::size_t d = sizes.size() - 1; d-- > 0; next *= sizes[d])
    strides[d] = next;
  const at::AutoDispatchBelowADInplaceOrView guard;
  return whole.as_strided(sizes, strides);
}

// Whether t is what without_padding() returned, all of it.
inline bool is_padded(const at::Tensor& t) {
  const std::int64_t columns = padded_columns(t.size(-1));
  if (t.dim() < 2 || t.storage_offset() != 0 || t.stride(-1) != 1) return false;
  std::int64_t next = columns;
  for (std::int64_t d = t.dim() - 1; d-- > 0; next *= t.size(d))
    if (t.stride(d) != next) return false;
  return t.storage().nbytes() ==
         static_cast<std::size_t>(next) * t.element_size();
}

// [rows, padded_columns] of such a tensor.
inline at::Tensor with_padding(const at::Tensor& t) {
  const std::int64_t columns = padded_columns(t.size(-1));
  return t.detach().as_strided({t.numel() / t.size(-1), columns}, {columns, 1});
}

}  // namespace lockstep
