// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/picks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lockstep/batch/goodput.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

double nearest_batch(std::span<const BatchRow> rows, double wanted) {
  return std::ranges::min_element(
             rows, {},
             [&](const BatchRow& row) {
               return std::abs(std::log(row.batch / wanted));
             })
      ->batch;
}

std::optional<LinearStepTime> line_through(std::span<const StepTime> points) {
  if (points.size() < 2 ||
      points.front().per_rank_batch == points.back().per_rank_batch)
    return std::nullopt;
  const LinearStepTime line = fit_linear_step_time(points);
  if (!(line.per_sample_s > 0)) return std::nullopt;
  return line;
}

void fill_goodput(BatchComparison& c, const NoiseForGoodput& noise) {
  const double base = c.base_batch;
  for (BatchRow& row : c.rows) {
    row.efficiency = statistical_efficiency(noise.value, base, row.batch);
    if (row.step_s > 0)
      row.goodput =
          goodput(row.batch / row.step_s, noise.value, base, row.batch);
  }
}

Pick pick_by_goodput(BatchComparison& c,
                     const std::optional<LinearStepTime>& line) {
  Pick pick{.criterion = "goodput"};
  const auto noise = noise_for_goodput(c);
  if (!noise) {
    pick.reason = "no noise scale: none measured, and the sweep shows no bend";
    return pick;
  }
  fill_goodput(c, *noise);
  const BatchRow* best = nullptr;
  for (const BatchRow& row : c.rows)
    if (row.goodput && (best == nullptr || *row.goodput > *best->goodput))
      best = &row;
  if (best == nullptr) {
    pick.reason = "no step times";
    return pick;
  }
  pick.batch = best->batch;
  pick.reason =
      fmt::format("{:.1f} useful examples/s at noise scale {:.0f} ({})",
                  *best->goodput, noise->value, noise->source);
  if (!line) return pick;
  pick.exact = best_goodput_batch(*line, c.ranks, noise->value);
  pick.low = best_goodput_batch(*line, c.ranks, noise->low);
  pick.high = best_goodput_batch(*line, c.ranks, noise->high);
  pick.reason += fmt::format(
      "; step {:.3g} ms + {:.3g} ms a sample and device, within {:.0f} %",
      1e3 * line->fixed_s, 1e3 * line->per_sample_s,
      100 * line->max_relative_error);
  return pick;
}

Pick pick_by_channel(const BatchComparison& c,
                     const std::optional<LinearStepTime>& line) {
  Pick pick{.criterion = "gradient channel"};
  const auto noise = noise_for_goodput(c);
  if (!noise || !line) {
    pick.reason = "needs a noise scale and step times of two batch sizes";
    return pick;
  }
  pick.exact = best_channel_batch(*line, c.ranks, noise->value);
  pick.low = best_channel_batch(*line, c.ranks, noise->low);
  pick.high = best_channel_batch(*line, c.ranks, noise->high);
  pick.batch = nearest_batch(c.rows, *pick.exact);
  pick.reason =
      "a cross-check of goodput, by information a second (our definition)";
  return pick;
}

Pick pick_by_noise(const BatchComparison& c) {
  Pick pick{.criterion = "noise scale"};
  if (c.noise) {
    pick.exact = c.noise->median;
    pick.low = c.noise->low;
    pick.high = c.noise->high;
    pick.reason = c.noise->source + "; knows nothing of step times";
  } else if (c.critical && c.critical->bends) {
    pick.exact = c.critical->batch;
    pick.low = c.critical->low;
    pick.high = c.critical->high;
    pick.reason = "not measured: the sweep's critical batch size instead";
  } else {
    pick.reason = "not measured, and the sweep shows no bend";
    return pick;
  }
  pick.batch = nearest_batch(c.rows, *pick.exact);
  return pick;
}

Pick pick_by_time(const BatchComparison& c) {
  Pick pick{.criterion = "plain time"};
  const BatchRow* best = nullptr;
  for (const BatchRow& row : c.rows)
    if (row.plain_time_s && row.num_diverged == 0 &&
        (best == nullptr || *row.plain_time_s < *best->plain_time_s))
      best = &row;
  if (best == nullptr || !c.target_accuracy) {
    pick.reason = "no accuracy that a sound batch size reaches";
    return pick;
  }
  pick.batch = best->batch;
  pick.reason = fmt::format("first evaluation at {:.4g} % accuracy",
                            100 * *c.target_accuracy);
  return pick;
}

Pick pick_by_accuracy(const BatchComparison& c, double sampling_se) {
  Pick pick{.criterion = "plain accuracy"};
  const auto best =
      std::ranges::max_element(c.rows, {}, &BatchRow::best_accuracy);
  pick.batch = best->batch;
  pick.low = pick.high = best->batch;
  const double noise = 2 * std::sqrt(2.0) * sampling_se;
  for (const BatchRow& row : c.rows)
    if (row.num_diverged == 0 &&
        row.best_accuracy >= best->best_accuracy - noise) {
      pick.low = std::min(*pick.low, row.batch);
      pick.high = std::max(*pick.high, row.batch);
    }
  pick.reason = fmt::format("{:.2f} %", 100 * best->best_accuracy);
  if (sampling_se > 0)
    pick.reason += fmt::format(
        "; differences under {:.2f} points are noise of "
        "the validation set",
        100 * noise);
  return pick;
}

// The fastest is taken over sound batch sizes; a pick that never gets there has
// no price.
std::optional<double> extra_time(const BatchComparison& c, const Pick& pick) {
  std::optional<double> fastest, own;
  for (const BatchRow& row : c.rows) {
    const auto& t = row.information.time_s;
    if (!t || row.num_diverged > 0) continue;
    if (row.batch == pick.batch) own = t;
    if (!row.information.discarded && (!fastest || *t < *fastest)) fastest = t;
  }
  if (!own || !fastest) return std::nullopt;
  return *own / *fastest - 1;
}

std::string runner_up(const InformationChoice& choice) {
  const BatchOutcome& fastest = choice.outcomes[choice.fastest];
  const BatchOutcome* next = nullptr;
  for (const BatchOutcome& o : choice.outcomes)
    if (&o != &fastest && !o.discarded && o.rate > 0 &&
        (next == nullptr || o.rate > next->rate))
      next = &o;
  if (next == nullptr) return "; no other gets there";
  return fmt::format("; {:g} takes {:.1f} % longer", next->batch,
                     100 * (fastest.rate / next->rate - 1));
}

}  // namespace

std::optional<NoiseForGoodput> noise_for_goodput(const BatchComparison& c) {
  if (c.critical && c.critical->bends)
    return NoiseForGoodput{c.critical->batch, c.critical->low, c.critical->high,
                           "the bend of this sweep, in hindsight"};
  if (c.noise)
    return NoiseForGoodput{c.noise->median, c.noise->low, c.noise->high,
                           c.noise->source};
  return std::nullopt;
}

Pick pick_by_information(const InformationChoice& choice,
                         const ChoiceInterval& interval) {
  const BatchOutcome& chosen = choice.outcomes[choice.chosen];
  const BatchOutcome& fastest = choice.outcomes[choice.fastest];
  Pick pick{.criterion = "information",
            .batch = chosen.batch,
            .low = std::min(interval.low, chosen.batch),
            .high = std::max(interval.high, chosen.batch)};
  if (choice.chosen == choice.fastest) {
    pick.reason = fmt::format("first to {:.4f} nats", choice.target_nats) +
                  runner_up(choice);
  } else {
    pick.reason = fmt::format(
        "{:g} is first to {:.4f} nats; this one is as fast ({:.1f} % behind) "
        "and ends higher",
        fastest.batch, choice.target_nats,
        100 * (1 - chosen.rate / fastest.rate));
  }
  std::vector<double> out;
  for (const BatchOutcome& o : choice.outcomes)
    if (o.discarded) out.push_back(o.batch);
  if (!out.empty())
    pick.reason += fmt::format("; discarded: {}", fmt::join(out, ", "));
  pick.reason += "; interval: " + interval.basis;
  return pick;
}

void add_picks(BatchComparison& c, std::span<const StepTime> points,
               double sampling_se) {
  const auto line = line_through(points);
  for (Pick& pick : std::vector<Pick>{
           pick_by_goodput(c, line), pick_by_channel(c, line), pick_by_noise(c),
           pick_by_time(c), pick_by_accuracy(c, sampling_se)})
    c.picks.push_back(std::move(pick));
  for (Pick& pick : c.picks) pick.extra_time = extra_time(c, pick);
}

}  // namespace lockstep
