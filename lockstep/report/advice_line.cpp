// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/advice_line.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/json_fields.h"
#include "lockstep/core/units.h"

namespace lockstep {
namespace {

std::string off_by(double measured, double predicted) {
  const double share = measured / predicted - 1;
  return fmt::format("{} {} than predicted", format_percent(std::abs(share)),
                     share < 0 ? "less" : "more");
}

}  // namespace

std::string advice_line(const RunRecord& record) {
  const auto at = record.advice.find("choice");
  if (at == record.advice.end()) return "";
  const double step = number_in(*at, "step_s");
  const double lo = number_in(*at, "step_lo90_s");
  const double hi = number_in(*at, "step_hi90_s");
  const double measured = number_in(record.summary, "median_step_s");
  const std::string predicted = fmt::format(
      "Advice taken: {} rank(s), {}, global batch {}. A step: {} predicted "
      "({} to {})",
      whole_in(*at, "ranks"), text_in(*at, "strategy"),
      whole_in(*at, "global_batch"), format_seconds(step), format_seconds(lo),
      format_seconds(hi));
  if (!std::isfinite(measured) || !std::isfinite(step))
    return predicted + ", none measured.\n";
  return fmt::format("{}, {} measured: {}, {} the interval.\n", predicted,
                     format_seconds(measured), off_by(measured, step),
                     lo <= measured && measured <= hi ? "inside" : "outside");
}

}  // namespace lockstep
