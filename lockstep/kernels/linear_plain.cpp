// SPDX-License-Identifier: Apache-2.0
// linear_body.h for one instruction set.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lockstep/kernels/linear_body.h"

namespace lockstep {
namespace {

struct Stream {
  void operator()(float* to, Float4::Type value) const {
#if defined(__x86_64__)
    _mm_stream_ps(to, value);
#else
    store<Float4>(to, value);
#endif
  }
  static void finish() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }
};

}  // namespace

const LinearTable kLinearPlain{linear_forward<Float4, 3, 4>,
                               linear_weight_gradient<Float4, 4, 2, Stream>};

}  // namespace lockstep
