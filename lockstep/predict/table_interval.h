// SPDX-License-Identifier: Apache-2.0
// How wide a prediction is: 90 % of held-back rows lie inside. The width grows
// with the predicted loss and with what is not known of the row.
#pragma once

#include "lockstep/predict/table_model.h"

namespace lockstep {

// Half of the 90 % interval, in ln(value).
double log_spread(const TableFacts& facts, const TableForecast& forecast);

}  // namespace lockstep
