// SPDX-License-Identifier: Apache-2.0
// The words of hardware files back into enumerators; Error{Fault::config} at
// `where` for a word that is none.
#pragma once

#include <string>

#include "lockstep/hardware/link.h"

namespace lockstep {

LinkKind link_kind(const std::string& word, const std::string& where);
Hop hop(const std::string& word, const std::string& where);
CurveOp curve_op(const std::string& word, const std::string& where);

}  // namespace lockstep
