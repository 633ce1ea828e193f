// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/sum.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep {
namespace {

std::byte* bytes(const at::Tensor& t) {
  return static_cast<std::byte*>(t.data_ptr());
}

// Every 16-bit pattern, added to another one, against torch's own conversions.
void check_every_pattern(at::ScalarType type, WireType wire) {
  at::set_num_threads(1);  // LibTorch is not built for TSan
  const at::Tensor a =
      at::arange(0, 65536, at::kInt).to(at::kShort).view(type).contiguous();
  for (const std::int64_t turn : {1, 77, 4099, 31337}) {
    const at::Tensor b = a.roll(turn);
    const at::Tensor want = (a.to(at::kFloat) + b.to(at::kFloat)).to(type);
    at::Tensor got = at::empty_like(a);
    const std::byte* from[] = {bytes(a), bytes(b)};
    std::byte* const to[] = {bytes(got)};
    sum_in_rank_order(wire, from, to, a.numel());
    EXPECT_TRUE(at::allclose(got.to(at::kFloat), want.to(at::kFloat), 0, 0,
                             /*equal_nan=*/true));
    const at::Tensor number = want.to(at::kFloat).isnan().logical_not();
    EXPECT_TRUE(at::equal(got.view(at::kShort).masked_select(number),
                          want.view(at::kShort).masked_select(number)));
  }
}

TEST(Sum, EveryFp16PatternIsAddedAndRoundedAsTorchDoes) {
  check_every_pattern(at::kHalf, WireType::fp16);
}

TEST(Sum, EveryBf16PatternIsAddedAndRoundedAsTorchDoes) {
  check_every_pattern(at::kBFloat16, WireType::bf16);
}

TEST(Sum, OrderIsThatOfTheRanks) {
  const at::Tensor big = at::full({9}, 1e8F), one = at::ones({9});
  at::Tensor out = at::empty({9});
  std::byte* const to[] = {bytes(out)};
  const std::byte* lost[] = {bytes(big), bytes(one), bytes(big.neg())};
  const at::Tensor minus = big.neg();
  lost[2] = bytes(minus);
  sum_in_rank_order(WireType::fp32, lost, to, 9);
  EXPECT_EQ(out.sum().item<float>(), 0);  // 1e8 + 1 is 1e8 in fp32
  const std::byte* kept[] = {bytes(big), bytes(minus), bytes(one)};
  sum_in_rank_order(WireType::fp32, kept, to, 9);
  EXPECT_EQ(out.sum().item<float>(), 9);
}

TEST(Sum, WritesNothingBehindTheEnd) {
  for (std::int64_t n = 0; n < 70; ++n) {
    const at::Tensor a = at::ones({80}), b = at::ones({80});
    const std::byte* from[] = {bytes(a), bytes(b)};
    std::byte* const to[] = {bytes(a), bytes(b)};
    sum_in_rank_order(WireType::fp32, from, to, n);
    EXPECT_EQ(a.sum().item<float>(), static_cast<float>(80 + n));
    EXPECT_TRUE(at::equal(a, b));
  }
}

}  // namespace
}  // namespace lockstep
