// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/batch_record.h"

#include <fmt/format.h>

#include <map>

#include "lockstep/batch/lr_range.h"
#include "lockstep/core/file.h"
#include "lockstep/train/adaptive_batch.h"
#include "lockstep/train/learning_rate.h"
#include "lockstep/train/noise_log.h"

namespace lockstep {
namespace {

struct RangeSteps {
  std::vector<double> lr, loss;
};

// Rate and loss of each step, all ranks together.
RangeSteps range_steps(const Session& s, std::span<const StepSample> steps) {
  struct Sum {
    double loss = 0;
    std::int64_t samples = 0;
  };
  std::map<std::int64_t, Sum> sums;
  for (const StepSample& step : steps) {
    Sum& sum = sums[step.step];
    sum.loss += step.loss * static_cast<double>(step.samples);
    sum.samples += step.samples;
  }
  const auto size = static_cast<double>(s.data.train->size());
  const auto batch = static_cast<double>(s.batch.size.global);
  const double total =
      s.config.train.steps > 0
          ? static_cast<double>(s.config.train.steps) * batch / size
          : static_cast<double>(s.config.train.epochs);
  RangeSteps out;
  double before = 0;
  for (const auto& [step, sum] : sums) {
    out.lr.push_back(learning_rate_at(s.config.optim, {.epoch = before / size,
                                                       .total_epochs = total,
                                                       .global_batch = batch}));
    out.loss.push_back(sum.loss / static_cast<double>(sum.samples));
    before += static_cast<double>(sum.samples);
  }
  return out;
}

Json range_json(const Session& s, std::span<const StepSample> steps) {
  if (s.config.optim.schedule != ScheduleKind::range) return nullptr;
  const RangeSteps run = range_steps(s, steps);
  std::string text = "step,lr,loss,smooth_loss\n";
  Json out;
  std::vector<double> smooth;
  try {
    const RangeResult found = judge_range(run.lr, run.loss);
    smooth = found.smooth;
    out = {{"steepest_lr", found.steepest_lr}, {"lowest_lr", found.lowest_lr}};
    if (found.diverged_lr) out["diverged_lr"] = *found.diverged_lr;
    fmt::print(stderr,
               "range test: the loss falls fastest at a rate of {:.3g} and is "
               "lowest at {:.3g}\n",
               found.steepest_lr, found.lowest_lr);
  } catch (const Error& e) {
    out = {{"no_result", fmt::format("{} ({})", e.what(), e.hint())}};
    fmt::print(stderr, "{}\n", e.what());
  }
  for (std::size_t i = 0; i < run.lr.size(); ++i)
    text += fmt::format("{},{},{},{}\n", i, run.lr[i], run.loss[i],
                        i < smooth.size() ? fmt::format("{}", smooth[i]) : "");
  write_file(s.folder->path() / "range.csv", text);
  return out;
}

}  // namespace

void put_batch_summary(Json& summary, const Session& s,
                       std::span<const StepSample> steps) {
  const auto put = [&](const char* name, const Json& value) {
    if (!value.is_null()) summary[name] = value;
  };
  put("noise_scale", noise_json(s));
  put("adaptive_batch", adaptive_json(s));
  put("pilot", s.batch.pilot);
  put("lr_range", range_json(s, steps));
}

}  // namespace lockstep
