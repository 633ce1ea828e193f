// SPDX-License-Identifier: Apache-2.0
// Inner loops of a fully connected layer at small batch for one instruction
// set, on one thread. Private to kernels/.
#pragma once

#include <cstdint>

namespace lockstep {

// The largest batch these loops take.
inline constexpr std::int64_t kLinearBatch = 32;

struct LinearWork {
  const float* input = nullptr;  // [batch][in]
  const float* grad = nullptr;   // [batch][out]
  const float* bias = nullptr;   // [out], or null
  float* weight = nullptr;       // [out][in]: read forward, written backward
  float* output = nullptr;       // [batch][out]
  std::int64_t batch = 0, in = 0, out = 0;
  std::int64_t first = 0, last = 0;  // rows of the weight to work on
  bool overwrite = false;            // backward: = instead of +=
};

struct LinearTable {
  void (*forward)(const LinearWork&);
  void (*weight_gradient)(const LinearWork&);
};

extern const LinearTable kLinearPlain;
extern const LinearTable kLinearAvx2;
extern const LinearTable kLinearAvx512;

}  // namespace lockstep
