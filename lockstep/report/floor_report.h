// SPDX-License-Identifier: Apache-2.0
// A profile against its floors: a table, the sentence that sums it up, notes on
// how to read it, and the document of the page with the roofline figure.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/table.h"
#include "lockstep/predict/floor.h"

namespace lockstep {

// A row a layer, then "update" and the whole "step".
Table floor_table(const Floors& floors);

// "26 % of a step of 2.30 ms is at the floor; furthest from it are …"
std::string floor_sentence(const Floors& floors);

// Whose ceilings these are, what was scaled, what is unknown.
std::vector<std::string> floor_notes(const Floors& floors);

// What `lockstep report PROFILE --json` prints and report_page() draws.
Json floor_document(const Floors& floors, const std::string& command);

}  // namespace lockstep
