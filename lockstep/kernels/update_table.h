// SPDX-License-Identifier: Apache-2.0
// The update kernels of one instruction set, on one thread. Private to
// kernels/: update.cpp chooses and shares out.
#pragma once

#include <cstdint>

#include "lockstep/kernels/update.h"

namespace lockstep {

struct UpdateTable {
  void (*sgd)(const UpdateSpan&, const SgdRule&);
  void (*adam)(const UpdateSpan&, const AdamRule&);
  double (*lamb_moments)(const UpdateSpan&, const LambRule&);
  void (*lamb_apply)(const UpdateSpan&, const LambRule&, float);
  double (*sum_of_squares)(const float*, std::int64_t);
};

extern const UpdateTable kUpdatePlain;
extern const UpdateTable kUpdateAvx2;
extern const UpdateTable kUpdateAvx512;

}  // namespace lockstep
