// SPDX-License-Identifier: Apache-2.0
// A name that tells models apart: the kind, and for `variable` its size.
#pragma once

#include <string>

#include "lockstep/config/model.h"

namespace lockstep {

// "linear"; "variable 1M/20M" (parameters / FLOPs of a sample's forward pass).
std::string model_name(const ModelConfig& model);

}  // namespace lockstep
