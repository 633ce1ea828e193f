// SPDX-License-Identifier: Apache-2.0
// What people call a point of a study: the settings that tell it from the
// others, by name. Folders keep their full names.
#pragma once

#include <map>
#include <string>

#include "lockstep/store/study_folder.h"

namespace lockstep {

// By the point's id: "batch=32, lr_rule=linear, seed=1".
std::map<std::string, std::string> labels_of(const StudyState& state);

}  // namespace lockstep
