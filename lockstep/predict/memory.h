// SPDX-License-Identifier: Apache-2.0
// Does it fit: device memory of a question, and the largest batch that does.
#pragma once

#include "lockstep/predict/question.h"
#include "lockstep/predict/workload.h"

namespace lockstep {

struct MemoryFit {
  bool known = false;  // the profile says nothing of memory otherwise
  double need_bytes = 0, have_bytes = 0;
  std::int64_t largest_batch = 0;  // of one rank and pass; 0: none fits

  bool fits() const { return !known || need_bytes <= have_bytes; }
};

// Allocators keep blocks apart: this share of memory is usable.
constexpr double kUsableMemory = 0.95;

MemoryFit memory_fit(const Workload& work, const Cluster& cluster,
                     const Question& question);

}  // namespace lockstep
