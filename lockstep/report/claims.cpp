// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/claims.h"

namespace lockstep {
std::string_view word(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::holds:
      return "holds";
    case ClaimVerdict::does_not_hold:
      return "does not hold";
    case ClaimVerdict::cannot_be_tested:
      return "cannot be tested here";
  }
  return "";
}

std::vector<Claim> claims_of(const Study& study) {
  if (study.kind == "stevens") return stevens_claims(study);
  if (study.kind == "qeios") return qeios_claims(study);
  if (study.kind == "hpml") return hpml_claims(study);
  if (study.kind == "variable") return variable_claims(study);
  return {};
}

Table claims_table(const std::vector<Claim>& claims) {
  Table table{.verb = "report",
              .columns = {{.name = "source"},
                          {.name = "claim"},
                          {.name = "measured"},
                          {.name = "verdict"}}};
  for (const Claim& c : claims)
    table.add({c.source, c.claim, c.measured, std::string(word(c.verdict))});
  return table;
}

}  // namespace lockstep
