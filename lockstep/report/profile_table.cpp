// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/profile_table.h"

#include <algorithm>

#include "lockstep/core/units.h"

namespace lockstep {

Table profile_table(const Profile& p) {
  Table t{
      .verb = "profile",
      .columns = {{.name = "layer"},
                  {.name = "type"},
                  {.name = "params"},
                  {.name = "forward_s",
                   .title = "forward",
                   .show = with(format_seconds)},
                  {.name = "backward_s",
                   .title = "backward",
                   .show = with(format_seconds)},
                  {.name = "share", .unit = "(%)", .show = scaled(100, 1)}}};
  const std::size_t last = p.batches.size() - 1;
  std::vector<std::int64_t> params(p.layers.size(), 0);
  for (const ProfileParam& param : p.params) params[param.layer] += param.numel;
  double rest = p.step_s[last] - p.optimizer_s;
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const ProfileLayer& l = p.layers[i];
    rest -= l.forward_s[last] + l.backward_s[last];
    t.add({l.name, l.type, params[i], l.forward_s[last], l.backward_s[last],
           (l.forward_s[last] + l.backward_s[last]) / p.step_s[last]});
  }
  if (p.loss) {
    const double there = p.loss->forward_s[last],
                 back = p.loss->backward_s[last];
    rest -= there + back;
    t.add({std::string("loss"), std::string(), std::int64_t{0}, there, back,
           (there + back) / p.step_s[last]});
  }
  t.add({std::string("update"), std::string(), std::int64_t{0}, p.optimizer_s,
         0.0, p.optimizer_s / p.step_s[last]});
  // Timing each layer costs time itself: they may add up to more than a step.
  t.add({std::string(p.loss ? "overhead" : "loss and overhead"), std::string(),
         std::int64_t{0}, std::max(0.0, rest), 0.0,
         std::max(0.0, rest) / p.step_s[last]});
  return t;
}

}  // namespace lockstep
