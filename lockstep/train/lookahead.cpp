// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/lookahead.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// The average's memory over one step near the end.
constexpr double kMemory = 0.95;

std::vector<at::Tensor> averaged(const Session& s) {
  std::vector<at::Tensor> out{s.params.values()};
  for (const at::Tensor& buffer : s.model.module->buffers())
    if (buffer.scalar_type() == at::kFloat) out.push_back(buffer);
  return out;
}

}  // namespace

void begin_lookahead(Session& s) {
  if (s.config.optim.lookahead_steps == 0 || !s.average.empty()) return;
  for (const at::Tensor& t : averaged(s)) s.average.push_back(t.clone());
}

void look_ahead(Session& s, double share) {
  const std::int64_t every = s.config.optim.lookahead_steps;
  if (every == 0 || (s.at.step % every != 0 && share < 1)) return;
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> now = averaged(s);
  // At the end the average stands, as it is.
  const double memory =
      share < 1
          ? std::pow(kMemory, static_cast<double>(every)) * std::pow(share, 3)
          : 1;
  at::_foreach_lerp_(s.average, now, 1 - memory);
  at::_foreach_copy_(now, s.average);
}

StatePart lookahead_part(Session& s) {
  return {.name = "lookahead",
          .save =
              [&s](StateWriter& w) {
                for (std::size_t i = 0; i < s.average.size(); ++i)
                  w.put(std::to_string(i), s.average[i]);
              },
          .load =
              [&s](const StateReader& r) {
                if (s.config.optim.lookahead_steps == 0) return;
                begin_lookahead(s);
                const at::NoGradGuard no_grad;
                for (std::size_t i = 0; i < s.average.size(); ++i)
                  s.average[i].copy_(r.tensor(std::to_string(i)));
              }};
}

void check_lookahead(const RunConfig& config) {
  const StrategyKind kind = resolved(config.strategy.kind, config.comm.ranks);
  if (config.optim.lookahead_steps == 0 || kind == StrategyKind::single ||
      kind == StrategyKind::ddp)
    return;
  throw Error(Fault::config, "optim.lookahead_steps",
              "is for ranks that hold the same parameters after every step",
              "choose strategy.kind=ddp");
}

}  // namespace lockstep
