// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/update.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lockstep/kernels/parallel.h"
#include "lockstep/kernels/update_table.h"

namespace lockstep {
namespace {

// Elements that stay together whatever the number of threads: a multiple of
// every vector length, small enough to share out, large enough to be cheap.
constexpr std::int64_t kBlock = 16384;

const UpdateTable& update_table(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return kUpdateAvx512;
    case Isa::avx2:
      return kUpdateAvx2;
    case Isa::plain:
      break;
  }
  return kUpdatePlain;
}

UpdateSpan part_of(const UpdateSpan& s, std::int64_t begin, std::int64_t end) {
  return {s.values + begin, s.grads + begin,
          s.first ? s.first + begin : nullptr,
          s.second ? s.second + begin : nullptr, end - begin};
}

// update(part) for parts that begin and end at multiples of kBlock.
template <class Update>
void share_blocks(const UpdateSpan& span, const Update& update) {
  const std::int64_t blocks = (span.numel + kBlock - 1) / kBlock;
  parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
    update(part_of(span, first * kBlock, std::min(last * kBlock, span.numel)));
  });
}

// The root of sum(begin, end) over all blocks, added in their order.
template <class Sum>
double length_of(std::int64_t numel, const Sum& sum) {
  const std::int64_t blocks = (numel + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b)
      sums[static_cast<std::size_t>(b)] =
          sum(b * kBlock, std::min((b + 1) * kBlock, numel));
  });
  double total = 0;
  for (const double part : sums) total += part;
  return std::sqrt(total);
}

}  // namespace

void sgd_update(const UpdateSpan& span, const SgdRule& rule, Isa isa) {
  const auto update = update_table(isa).sgd;
  share_blocks(span, [&](const UpdateSpan& part) { update(part, rule); });
}

void adam_update(const UpdateSpan& span, const AdamRule& rule, Isa isa) {
  const auto update = update_table(isa).adam;
  share_blocks(span, [&](const UpdateSpan& part) { update(part, rule); });
}

void lamb_apply(const UpdateSpan& span, const LambRule& rule, double rate,
                Isa isa) {
  const auto update = update_table(isa).lamb_apply;
  const auto factor = static_cast<float>(rate);
  share_blocks(span,
               [&](const UpdateSpan& part) { update(part, rule, factor); });
}

double lamb_moments(const UpdateSpan& span, const LambRule& rule, Isa isa) {
  const auto update = update_table(isa).lamb_moments;
  return length_of(span.numel, [&](std::int64_t begin, std::int64_t end) {
    return update(part_of(span, begin, end), rule);
  });
}

double norm_of(const float* values, std::int64_t numel, Isa isa) {
  const auto sum = update_table(isa).sum_of_squares;
  return length_of(numel, [&](std::int64_t begin, std::int64_t end) {
    return sum(values + begin, end - begin);
  });
}

}  // namespace lockstep
