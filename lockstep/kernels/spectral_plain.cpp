// SPDX-License-Identifier: Apache-2.0
// spectral_body.h for one instruction set.
#include "lockstep/kernels/spectral_body.h"

namespace lockstep {

const SpectralTable kSpectralPlain{Float4::kLanes,
                                   analyse<Float4>,
                                   synthesise<Float4>,
                                   analyse_kernels<Float4>,
                                   synthesise_kernels<Float4>,
                                   correlate<Float4, 5, 1>,
                                   correlate_blocks<Float4, 2, 2>,
                                   synthesise_product<Float4>,
                                   analyse_product<Float4>};

}  // namespace lockstep
