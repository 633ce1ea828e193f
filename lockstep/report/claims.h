// SPDX-License-Identifier: Apache-2.0
// Every claim of a seed, what this study measured, and whether the claim holds:
// the table each of the three reports ends with. Thresholds stand in the
// sentences; a claim whose points are missing cannot be tested, and says what
// is missing.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"

namespace lockstep {

enum class ClaimVerdict { holds, does_not_hold, cannot_be_tested };
std::string_view word(ClaimVerdict verdict);

struct Claim {
  std::string source;    // "seed 000, 5.1"
  std::string claim;     // in the seed's sense
  std::string measured;  // what this study has to say, with numbers
  ClaimVerdict verdict = ClaimVerdict::cannot_be_tested;
};

// By the study's kind; empty for one that follows no seed.
std::vector<Claim> claims_of(const Study& study);
std::vector<Claim> stevens_claims(const Study& study);
std::vector<Claim> qeios_claims(const Study& study);
std::vector<Claim> hpml_claims(const Study& study);
std::vector<Claim> variable_claims(const Study& study);

Table claims_table(const std::vector<Claim>& claims);

}  // namespace lockstep
