// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/conv1d_pool.h"

#include <algorithm>

namespace lockstep {

const Conv1dTable& conv1d_table(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return kConv1dAvx512;
    case Isa::avx2:
      return kConv1dAvx2;
    case Isa::plain:
      break;
  }
  return kConv1dPlain;
}

double unpool_row(const float* grad, const std::uint8_t* where,
                  const ConvShape& shape, float* row) {
  std::fill_n(row, shape.positions(), 0.0f);
  double sum = 0;
  for (std::int64_t w = 0; w < shape.windows(); ++w) {
    if (where[w] == kNowhere) continue;
    row[w * shape.pool + where[w]] = grad[w];
    sum += grad[w];
  }
  return sum;
}

}  // namespace lockstep
