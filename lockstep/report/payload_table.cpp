// SPDX-License-Identifier: Apache-2.0
// What travels in a step, payload by payload: gradients, parameters, running
// statistics, a batch's own statistics (synchronised BatchNorm), inputs and
// outputs.
#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/study_columns.h"
#include "lockstep/report/study_tables.h"

namespace lockstep {

Table payload_table(const Study& study) {
  Table table{.verb = "report",
              .columns = study_columns({{.name = "per_rank", .title = "a rank"},
                                        {.name = "payload"},
                                        {.name = "messages_a_step",
                                         .title = "messages",
                                         .show = scaled(1, 0)},
                                        {.name = "bytes_a_step",
                                         .title = "bytes",
                                         .show = with(format_bytes)},
                                        {.name = "bus_bytes_a_step",
                                         .title = "over a link",
                                         .show = with(format_bytes)},
                                        {.name = "seconds_a_step",
                                         .title = "time",
                                         .unit = "(ms)",
                                         .show = scaled(1e3, 3)}})};
  for (const StudyPoint& p : study.points)
    for (const PayloadFlow& flow : p.payloads)
      table.add({p.model, p.strategy, p.arm, std::string(word(p.origin)),
                 p.ranks, p.per_rank, flow.payload, flow.messages, flow.bytes,
                 cell(flow.bus_bytes), cell(flow.seconds)});
  return table;
}

}  // namespace lockstep
