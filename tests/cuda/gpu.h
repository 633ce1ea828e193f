// SPDX-License-Identifier: Apache-2.0
// A GPU for a test. These programs run where there is one, and fail elsewhere.
#pragma once

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <memory>

#include "lockstep/device/device.h"

namespace lockstep {

inline Device& gpu() {
  static const std::unique_ptr<Device> one = open_device("cuda");
  return *one;
}

// Draws start anew: a test sees the same numbers whichever ran before it.
class GpuTest : public ::testing::Test {
 protected:
  GpuTest() {
    gpu();
    torch::manual_seed(7);
  }
};

// |a - b| / |b|, in double.
inline double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kCPU, at::kDouble);
  const at::Tensor y = b.detach().to(at::kCPU, at::kDouble);
  return ((x - y).norm() / y.norm()).item<double>();
}

// bf16 keeps eight bits: one rounding is 2^-9 at most, 1.7e-3 on average over
// numbers of all sizes.
constexpr double kBf16Once = 4e-3;

// Random numbers that bf16 holds exactly, so that both sides read the same.
inline at::Tensor random(at::IntArrayRef sizes) {
  return at::randn(sizes).to(at::kBFloat16).to(at::kFloat);
}

class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
  }
};

}  // namespace lockstep
