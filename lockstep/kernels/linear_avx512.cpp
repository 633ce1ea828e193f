// SPDX-License-Identifier: Apache-2.0
// linear_body.h for one instruction set.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lockstep/kernels/linear_body.h"

namespace lockstep {
namespace {

struct Stream {
  void operator()(float* to, Float16::Type value) const {
#if defined(__x86_64__)
    _mm512_stream_ps(to, value);
#else
    store<Float16>(to, value);
#endif
  }
  static void finish() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }
};

}  // namespace

const LinearTable kLinearAvx512{linear_forward<Float16, 5, 5>,
                                linear_weight_gradient<Float16, 6, 4, Stream>};

}  // namespace lockstep
