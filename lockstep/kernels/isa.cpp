// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/isa.h"

namespace lockstep {
namespace {

Isa detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Isa::avx2;
#endif
  return Isa::plain;
}

}  // namespace

Isa best_isa() {
  static const Isa best = detect();
  return best;
}

std::vector<Isa> available_isas() {
  switch (best_isa()) {
    case Isa::avx512:
      return {Isa::plain, Isa::avx2, Isa::avx512};
    case Isa::avx2:
      return {Isa::plain, Isa::avx2};
    case Isa::plain:
      break;
  }
  return {Isa::plain};
}

std::string isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::plain:
      break;
  }
  return "plain";
}

}  // namespace lockstep
