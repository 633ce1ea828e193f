// SPDX-License-Identifier: Apache-2.0
// spectral_body.h for one instruction set.
#include "lockstep/kernels/spectral_body.h"

namespace lockstep {

const SpectralTable kSpectralAvx2{Float8::kLanes,
                                  analyse<Float8>,
                                  synthesise<Float8>,
                                  analyse_kernels<Float8>,
                                  synthesise_kernels<Float8>,
                                  correlate<Float8, 5, 1>,
                                  correlate_blocks<Float8, 2, 2>,
                                  synthesise_product<Float8>,
                                  analyse_product<Float8>};

}  // namespace lockstep
