// SPDX-License-Identifier: Apache-2.0
// spectral_body.h for one instruction set.
#include "lockstep/kernels/spectral_body.h"

namespace lockstep {

const SpectralTable kSpectralAvx512{Float16::kLanes,
                                    analyse<Float16>,
                                    synthesise<Float16>,
                                    analyse_kernels<Float16>,
                                    synthesise_kernels<Float16>,
                                    correlate<Float16, 5, 2>,
                                    correlate_blocks<Float16, 5, 2>,
                                    synthesise_product<Float16>,
                                    analyse_product<Float16>};

}  // namespace lockstep
