// SPDX-License-Identifier: Apache-2.0
// A kernel on a GPU against its floor: bytes that must move at the rate of a
// plain copy, or FLOPs at that of a matrix product, both of the same run.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/core/clock.h"
#include "lockstep/device/device.h"

namespace lockstep {

inline constexpr int kCalls = 20, kRounds = 9;

using Work = std::function<void()>;

// What a call cannot do without.
struct Needs {
  double bytes = 0, flops = 0;
};

// One call in seconds, the median of some rounds. Captured, so that the host's
// part is not in it.
inline double seconds_of(Device& device, const Work& work) {
  work();
  device.synchronize();
  const auto captured = device.capture([&](const Device::Cut&) {
    for (int i = 0; i < kCalls; ++i) work();
  });
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    device.synchronize();
    const double begin_s = now_s();
    captured.front()->replay();
    device.synchronize();
    rounds.push_back((now_s() - begin_s) / kCalls);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

class FloorTable {
 public:
  explicit FloorTable(Device& device) : device_(device) {
    const auto on = at::TensorOptions().device(device.torch());
    const at::Tensor from = at::ones({1 << 28}, on);
    at::Tensor to = at::empty_like(from);
    // By a kernel: copies that a graph makes by itself are slower.
    bytes_per_s_ = 2.0 * static_cast<double>(from.nbytes()) /
                   seconds_of(device, [&] { at::neg_out(to, from); });
    constexpr std::int64_t n = 8192;
    const at::Tensor a = at::randn({n, n}, on.dtype(at::kBFloat16));
    at::Tensor product = at::empty_like(a);
    flops_per_s_ = 2.0 * n * n * n /
                   seconds_of(device, [&] { at::mm_out(product, a, a); });
    std::printf(
        "# a copy of 1 GiB moves %.2f TB/s, a bf16 product of 8192 x "
        "8192 reaches %.0f TFLOP/s; the floor is at those\n"
        "%-46s %9s %9s %7s %11s %6s\n",
        bytes_per_s_ / 1e12, flops_per_s_ / 1e12, "kernel", "us", "floor us",
        "share %", "LibTorch us", "ratio");
  }

  // LibTorch's work may be missing.
  void row(const std::string& name, const Needs& needs, const Work& ours,
           const Work& theirs = {}) {
    const double s = seconds_of(device_, ours);
    const double floor_s =
        std::max(needs.bytes / bytes_per_s_, needs.flops / flops_per_s_);
    std::printf("%-46s %9.1f %9.1f %7.0f", name.c_str(), s * 1e6, floor_s * 1e6,
                100 * floor_s / s);
    if (theirs) {
      const double theirs_s = seconds_of(device_, theirs);
      std::printf(" %11.1f %6.2f", theirs_s * 1e6, theirs_s / s);
    }
    std::puts("");
  }

 private:
  Device& device_;
  double bytes_per_s_ = 0, flops_per_s_ = 0;
};

}  // namespace lockstep
