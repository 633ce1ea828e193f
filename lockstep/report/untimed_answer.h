// SPDX-License-Identifier: Apache-2.0
// What a study says where no run was timed: which configuration learnt best,
// for each number of devices.
#pragma once

#include <string>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

std::string untimed_answer(const Study& study);

}  // namespace lockstep
