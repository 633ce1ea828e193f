// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/criterion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

void require_candidates(std::span<const BatchCandidate> candidates,
                        const CriterionOptions& options) {
  if (candidates.size() < 2)
    throw Error(Fault::config, "batch",
                fmt::format("{} batch size: there is nothing to choose from",
                            candidates.size()),
                "run at least two, better four or more");
  if (!(options.label_entropy > 0))
    throw Error(Fault::data, "labels",
                "one class only: predictions can say nothing about it");
  if (!(options.delta >= 0 && options.delta < 1))
    throw Error(Fault::config, "delta",
                fmt::format("{} is not a share below 1", options.delta));
  for (const BatchCandidate& c : candidates)
    if (c.runs.empty())
      throw Error(Fault::data, fmt::format("batch {}", c.batch),
                  "has no run that can be judged");
}

std::vector<double> final_values(const BatchCandidate& c) {
  std::vector<double> out;
  for (const Envelope& run : c.runs) out.push_back(run.last());
  return out;
}

std::optional<double> mean_time(const BatchCandidate& c, double target,
                                Crossing crossing) {
  std::vector<double> times;
  for (const Envelope& run : c.runs)
    if (const auto t = time_to(run, target, crossing)) times.push_back(*t);
  if (times.empty()) return std::nullopt;
  return mean(times);
}

BatchOutcome judge(const BatchCandidate& c, double target,
                   const CriterionOptions& options) {
  BatchOutcome out;
  out.batch = c.batch;
  out.num_runs = c.runs.size();
  out.discarded = c.diverged;
  std::vector<double> rates;
  for (const Envelope& run : c.runs) {
    const auto t = time_to(run, target, options.crossing);
    rates.push_back(t ? target / *t : 0);
    out.num_reached += t ? 1 : 0;
  }
  out.rate = mean(rates);
  out.rate_se = standard_error(rates);
  out.time_s = mean_time(c, target, options.crossing);
  out.early_s = mean_time(c, target - options.sampling_se, options.crossing);
  // A curve that ends below the raised target is at least over by then.
  out.late_s = mean_time(c, target + options.sampling_se, options.crossing);
  if (!out.late_s && out.time_s) out.late_s = c.runs.front().time_s.back();
  const std::vector<double> final = final_values(c);
  out.final_nats = mean(final);
  // Few runs know their spread badly: they may agree by chance. What the
  // validation set leaves open, the same for all of them, is the least of it.
  out.final_se = options.sampling_se;
  if (final.size() > 1)
    out.final_se = std::max(out.final_se, standard_error(final));
  return out;
}

double best_final(std::span<const BatchCandidate> candidates) {
  double best = 0;
  for (const BatchCandidate& c : candidates)
    best = std::max(best, mean(final_values(c)));
  return best;
}

// Marks those that end below the best by more than the guard allows.
void guard(std::vector<BatchOutcome>& outcomes,
           const CriterionOptions& options) {
  const auto best =
      std::ranges::max_element(outcomes, {}, &BatchOutcome::final_nats);
  const double best_nats = best->final_nats, best_se = best->final_se;
  for (BatchOutcome& o : outcomes) {
    const double allowed = std::max(options.guard_share * options.label_entropy,
                                    2 * std::hypot(o.final_se, best_se));
    o.discarded = o.discarded || o.final_nats < best_nats - allowed;
  }
}

bool as_fast(const BatchOutcome& o, const BatchOutcome& fastest,
             double tie_share) {
  if (o.discarded || o.num_reached == 0) return false;
  const double gap = fastest.rate - o.rate;
  if (o.num_runs > 1 && fastest.num_runs > 1)
    return gap <= std::hypot(o.rate_se, fastest.rate_se);
  return gap <= tie_share * fastest.rate;
}

}  // namespace

TargetNotReached::TargetNotReached(double target_nats)
    : Error(Fault::data, "batch",
            fmt::format("no batch size reaches {:.4f} nats", target_nats),
            "train longer, or ask for a lower target") {}

InformationChoice choose_by_information(
    std::span<const BatchCandidate> candidates,
    const CriterionOptions& options) {
  require_candidates(candidates, options);
  InformationChoice out;
  out.target_nats = options.target_nats.value_or((1 - options.delta) *
                                                 best_final(candidates));
  // Everybody is there before the first step: no rate says anything.
  if (!(out.target_nats > 0))
    throw Error(Fault::data, "batch",
                "no batch size learnt anything: the target is 0 nats",
                "train longer, or on more data");
  for (const BatchCandidate& c : candidates)
    out.outcomes.push_back(judge(c, out.target_nats, options));
  std::ranges::sort(out.outcomes, {}, &BatchOutcome::batch);
  guard(out.outcomes, options);
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < out.outcomes.size(); ++i) {
    const BatchOutcome& o = out.outcomes[i];
    if (o.discarded || o.num_reached == 0) continue;
    if (!fastest || o.rate > out.outcomes[*fastest].rate) fastest = i;
  }
  if (!fastest) throw TargetNotReached(out.target_nats);
  out.fastest = out.chosen = *fastest;
  for (std::size_t i = 0; i < out.outcomes.size(); ++i) {
    if (!as_fast(out.outcomes[i], out.outcomes[*fastest], options.tie_share))
      continue;
    out.ties.push_back(i);
    // In order of batch, so equal final values leave the smaller one.
    if (out.ties.size() == 1 ||
        out.outcomes[i].final_nats > out.outcomes[out.chosen].final_nats)
      out.chosen = i;
  }
  return out;
}

namespace {

ChoiceInterval from_resamples(std::span<const BatchCandidate> candidates,
                              const CriterionOptions& options, double target) {
  std::mt19937_64 random(1);
  std::vector<double> chosen;
  CriterionOptions fixed = options;
  fixed.target_nats = target;
  std::vector<BatchCandidate> drawn(candidates.begin(), candidates.end());
  for (int i = 0; i < 1000; ++i) {
    double best_rate = 0, best_batch = 0;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto& runs = candidates[c].runs;
      for (Envelope& run : drawn[c].runs)
        run = runs[draw_below(random, runs.size())];
      const BatchOutcome o = judge(drawn[c], target, fixed);
      if (o.rate > best_rate) best_rate = o.rate, best_batch = o.batch;
    }
    if (best_rate > 0) chosen.push_back(best_batch);
  }
  std::ranges::sort(chosen);
  const std::size_t edge = chosen.size() / 20;
  return {chosen[edge], chosen[chosen.size() - 1 - edge], ""};
}

ChoiceInterval from_sampling(const InformationChoice& choice) {
  const BatchOutcome& best = choice.outcomes[choice.fastest];
  ChoiceInterval out{best.batch, best.batch, ""};
  for (const BatchOutcome& o : choice.outcomes) {
    if (o.discarded || !o.early_s) continue;
    if (*o.early_s > *best.late_s) continue;
    out.low = std::min(out.low, o.batch);
    out.high = std::max(out.high, o.batch);
  }
  return out;
}

}  // namespace

ChoiceInterval choice_interval(std::span<const BatchCandidate> candidates,
                               const CriterionOptions& options,
                               const InformationChoice& choice) {
  std::size_t fewest = candidates.front().runs.size();
  std::vector<BatchCandidate> kept;
  for (const BatchOutcome& o : choice.outcomes) {
    if (o.discarded) continue;
    const auto at =
        std::ranges::find(candidates, o.batch, &BatchCandidate::batch);
    kept.push_back(*at);
    fewest = std::min(fewest, at->runs.size());
  }
  if (fewest >= 2) {
    ChoiceInterval out = from_resamples(kept, options, choice.target_nats);
    out.basis = fewest == 2 ? "two runs each: a rough guide"
                            : fmt::format("{} runs each, resampled", fewest);
    return out;
  }
  const double batch = choice.outcomes[choice.chosen].batch;
  if (!(options.sampling_se > 0))
    return {batch, batch, "one run each and no error known: no interval"};
  ChoiceInterval out = from_sampling(choice);
  out.basis = "one run each: error of the validation set alone";
  return out;
}

}  // namespace lockstep
