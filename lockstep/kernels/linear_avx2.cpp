// SPDX-License-Identifier: Apache-2.0
// linear_body.h for one instruction set.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lockstep/kernels/linear_body.h"

namespace lockstep {
namespace {

struct Stream {
  void operator()(float* to, Float8::Type value) const {
#if defined(__x86_64__)
    _mm256_stream_ps(to, value);
#else
    store<Float8>(to, value);
#endif
  }
  static void finish() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }
};

}  // namespace

const LinearTable kLinearAvx2{linear_forward<Float8, 3, 4>,
                              linear_weight_gradient<Float8, 4, 2, Stream>};

}  // namespace lockstep
