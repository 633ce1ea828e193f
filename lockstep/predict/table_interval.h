// SPDX-License-Identifier: Apache-2.0
// How wide a prediction is: 90 % of held-back rows lie inside. The width grows
// with the predicted loss and with what is not known of the row.
#pragma once

#include "lockstep/predict/table_model.h"

namespace lockstep {

// The shape alone: what makes one row harder than another.
double spread_scale(const TableFacts& facts, const TableForecast& forecast);

// Half of the 90 % interval, in ln(value): the shape times the factor that
// rows held back gave.
double log_spread(const TableFacts& facts, const TableForecast& forecast,
                  const TableConstants& with);

}  // namespace lockstep
