// SPDX-License-Identifier: Apache-2.0
// A name that tells models apart: the kind, and for `variable` its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/config/model.h"

namespace lockstep {

// "linear"; "variable 1M/20M" (parameters / FLOPs of a sample's forward pass).
std::string model_name(const ModelConfig& model);

// The way back: what the name of a `variable` model says of its size. Nothing
// for a name that is of another model, or of none.
struct NamedSize {
  std::int64_t parameters = 0, flops = 0;  // of a sample's forward pass
};
std::optional<NamedSize> size_in_name(std::string_view name);

}  // namespace lockstep
