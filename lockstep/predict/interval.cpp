// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/interval.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lockstep {
namespace {

constexpr double k90 = 1.6449;  // standard deviations either way

struct Logs {
  double step = 0, speedup = 0;
};

Logs logs_of(const StepPlan& many, const StepPlan& single,
             const Assumptions& a) {
  const double n = std::log(simulate(many, a).step_s);
  const double one = std::log(simulate(single, a).step_s);
  return {.step = n, .speedup = one - n};
}

void add(TwoSided& out, double change) {
  double& side = change > 0 ? out.up : out.down;
  side += change * change;
}

}  // namespace

Spreads spreads(const Workload& work, const Fabric& fabric) {
  Spreads out{.compute = work.compute_spread,
              .host = work.estimated ? 0.4 : 0.1};
  out.link = 0;
  if (fabric.inside.link) out.link = fabric.inside.link->spread;
  if (fabric.between.link)
    out.link = std::max(out.link, fabric.between.link->spread);
  return out;
}

Spread spread_of(const StepPlan& many, const StepPlan& single, const Spreads& s,
                 const Assumptions& assume) {
  const Logs middle = logs_of(many, single, assume);
  Spread out;
  const auto move = [&](const std::function<void(Assumptions&, double)>& by) {
    for (const double side : {-1.0, 1.0}) {
      Assumptions a = assume;
      by(a, side);
      const Logs moved = logs_of(many, single, a);
      add(out.step, moved.step - middle.step);
      add(out.speedup, moved.speedup - middle.speedup);
    }
  };
  move([&](auto& a, double side) { a.compute *= std::exp(side * s.compute); });
  move([&](auto& a, double side) { a.host *= std::exp(side * s.host); });
  if (many.input_s > 0)
    move([&](auto& a, double side) { a.input *= std::exp(side * s.input); });
  if (many.ranks > 1 || many.bubble_s > 0) {
    move([&](auto& a, double side) {
      a.link.bandwidth *= std::exp(side * s.link);
      a.link.latency *= std::exp(-side * s.link);
    });
    move([&](auto& a, double side) {
      // A large one is known to a tenth of itself.
      const double by = s.contention * std::max(1.0, a.contention);
      a.contention = std::max(0.0, a.contention + side * by);
    });
    move([&](auto& a, double side) { a.jitter *= std::exp(side * s.jitter); });
    add(out.step, kModelSpread);
    add(out.step, -kModelSpread);
    add(out.speedup, kModelSpread);
    add(out.speedup, -kModelSpread);
  }
  for (TwoSided* t : {&out.step, &out.speedup})
    t->down = std::sqrt(t->down), t->up = std::sqrt(t->up);
  return out;
}

Range90 around(double value, const TwoSided& spread) {
  return {.lo90 = value * std::exp(-k90 * spread.down),
          .hi90 = value * std::exp(k90 * spread.up)};
}

}  // namespace lockstep
