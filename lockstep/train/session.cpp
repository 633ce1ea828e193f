// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/session.h"

#include <ATen/ATen.h>

#include "lockstep/core/clock.h"
#include "lockstep/train/lookahead.h"

namespace lockstep {
namespace {

StatePart optimizer_part(Optimizer& optimizer) {
  return {.name = "optimizer",
          .save =
              [&optimizer](StateWriter& w) {
                // Parts of a state are the strategy's to put together.
                if (optimizer.owns_all())
                  for (const auto& [name, tensor] : optimizer.state())
                    w.put(name, tensor);
                w.put("steps", Json(optimizer.steps()));
              },
          .load =
              [&optimizer](const StateReader& r) {
                const at::NoGradGuard no_grad;
                if (optimizer.owns_all())
                  for (const auto& [name, tensor] : optimizer.state())
                    tensor.copy_(r.tensor(name));
                optimizer.set_steps(r.value("steps"));
              }};
}

StatePart random_part(Device& device) {
  return {
      .name = "random",
      .save =
          [&device](StateWriter& w) { w.put("state", device.random_state()); },
      .load =
          [&device](const StateReader& r) {
            device.set_random_state(r.tensor("state"));
          }};
}

StatePart position_part(Session& s) {
  return {.name = "position",
          .save =
              [&s](StateWriter& w) {
                w.put("epoch", Json(s.at.epoch));
                w.put("step", Json(s.at.step));
                w.put("done", Json(s.at.done));
                w.put("best_accuracy", Json(s.best_accuracy));
                w.put("elapsed_s", Json(now_s() - s.recorder.origin()));
              },
          .load =
              [&s](const StateReader& r) {
                s.at = {.epoch = r.value("epoch"),
                        .step = r.value("step"),
                        .done = r.value("done")};
                s.best_accuracy = r.value("best_accuracy");
                s.elapsed_s = r.value("elapsed_s");
              }};
}

StatePart totals_part(EpochTotals& t) {
  return {.name = "totals",
          .save =
              [&t](StateWriter& w) {
                w.put("loss_sum", Json(t.loss_sum));
                w.put("correct", Json(t.correct));
                w.put("predictions", Json(t.predictions));
                w.put("samples", Json(t.samples));
                w.put("seconds", Json(t.seconds));
                w.put("seconds_with_loading", Json(t.seconds_with_loading));
                w.put("busy_s", Json(t.busy_s));
                w.put("timed_s", Json(t.timed_s));
              },
          .load =
              [&t](const StateReader& r) {
                // A loss that is no number is stored as null.
                t.loss_sum = r.value("loss_sum").is_null()
                                 ? std::nan("")
                                 : r.value("loss_sum").get<double>();
                t.correct = r.value("correct");
                t.predictions = r.value("predictions");
                t.samples = r.value("samples");
                t.seconds = r.value("seconds");
                t.seconds_with_loading = r.value("seconds_with_loading");
                t.busy_s = r.value("busy_s"), t.timed_s = r.value("timed_s");
              }};
}

StatePart strategy_part(Strategy& strategy, const StrategyState& saved) {
  return {.name = "strategy",
          .save =
              [&saved](StateWriter& w) {
                for (const auto& [name, tensor] : saved.tensors)
                  w.put(name, tensor);
                for (const auto& [name, value] : saved.values.items())
                  w.put(name, value);
              },
          .load =
              [&strategy](const StateReader& r) {
                strategy.load({r.tensors(), r.values()});
              }};
}

}  // namespace

TrainState state_of(Session& s, const StrategyState& strategy) {
  return {optimizer_part(s.optimizer),
          strategy_part(s.strategy, strategy),
          random_part(s.device),
          position_part(s),
          totals_part(s.totals),
          batch_part(s.batch),
          lookahead_part(s)};
}

Json identity_of(const RunConfig& config) {
  Json model = to_json(config).at("model");
  model.erase("weights");
  return model;
}

}  // namespace lockstep
