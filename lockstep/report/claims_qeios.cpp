// SPDX-License-Identifier: Apache-2.0
// Seed 002: MobileNetV2, which batch size, and is overfitting the device's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lockstep/core/units.h"
#include "lockstep/report/claim_points.h"
#include "lockstep/report/learning_outcomes.h"

namespace lockstep {
namespace {

// Accuracies this far apart count as different where the validation set is
// large enough to tell: seeds differ by that much.
constexpr double kAccuracyGap = 0.02;

bool fixed_arm(const RunFacts& r) { return fixed_rate_arm(r.arm); }

Claim best_is_64(const Study& study) {
  const std::string source = "seed 002, 4.1, 5";
  const std::string claim =
      "batch 64 has the highest validation accuracy and is the best trade-off";
  const Outcomes found = outcomes_of(study, fixed_arm);
  if (found.size() < 3 || !found.contains(64))
    return untested(source, claim, "needs batch 64 and two others, trained");
  const std::int64_t best = most_accurate(found);
  if (!found.at(best).learnt())
    return untested(source, claim, nothing_learnt(found.at(best)));
  Outcomes others = found;
  others.erase(64);
  const LearningOutcome& rival = others.at(most_accurate(others));
  const double apart = found.at(64).val_accuracy - rival.val_accuracy;
  const double noise = noise_between(found.at(64), rival);
  const std::string text =
      fmt::format("best at batch {}; validation {}", best, said(found));
  if (!(std::abs(apart) > noise))
    return untested(source, claim,
                    text + "; " + within_noise(noise, found.at(64)));
  return judged(source, claim, text, apart > 0);
}

// What batch 128 lost, and what a scaled rate brought back.
struct Loss {
  double lost = 0, back = 0, noise = 0;
  double least() const { return std::max(kAccuracyGap, noise); }
  bool coarse() const { return noise > kAccuracyGap; }
};

// Nothing where the validation set is too small to say.
std::optional<bool> is_the_batchs(const Loss& l) {
  if (l.lost > l.least()) {
    if (l.back > l.least()) return false;
    if (l.lost - l.back > l.least()) return true;
    if (!l.coarse()) return l.back <= l.lost / 2;
    return std::nullopt;
  }
  if (l.lost < -l.least() || !l.coarse()) return false;
  return std::nullopt;
}

Claim degraded_at_128(const Study& study) {
  const std::string source = "seed 002, 3.3.3, 4.1";
  const std::string claim =
      "batch 128 loses accuracy because gradients become less effective";
  const Outcomes fixed = outcomes_of(study, fixed_arm);
  const Outcomes scaled = outcomes_of(
      study, [](const RunFacts& r) { return scaled_rate_arm(r.arm); });
  if (!fixed.contains(128) || !scaled.contains(128) || fixed.size() < 2)
    return untested(source, claim,
                    "needs batch 128 with a fixed and a scaled rate");
  if (!fixed.at(most_accurate(fixed)).learnt())
    return untested(source, claim,
                    nothing_learnt(fixed.at(most_accurate(fixed))));
  const LearningOutcome &plain = fixed.at(128), &with = scaled.at(128);
  Outcomes smaller = fixed;
  smaller.erase(128);
  const LearningOutcome& best = smaller.at(most_accurate(smaller));
  const Loss loss{.lost = best.val_accuracy - plain.val_accuracy,
                  .back = with.val_accuracy - plain.val_accuracy,
                  .noise = noise_between(best, plain)};
  const std::string text = fmt::format(
      "fixed rate: {} at batch 128, {} at best elsewhere; batch 128 with the "
      "rate scaled {}",
      format_percent(plain.val_accuracy), format_percent(best.val_accuracy),
      format_percent(with.val_accuracy));
  const std::optional<bool> holds = is_the_batchs(loss);
  if (!holds)
    return untested(source, claim,
                    text + "; " + within_noise(loss.noise, plain));
  return judged(source, claim,
                text +
                    ": what scaling brings back was the rate's, not the "
                    "batch's",
                *holds);
}

Claim small_is_slow(const Study& study) {
  const std::string source = "seed 002, 4.1";
  const std::string claim =
      "smaller batches take longer; 16 is accurate but slow";
  const Outcomes found = outcomes_of(study, [](const RunFacts& r) {
    return r.ranks == 1 && fixed_arm(r) && r.not_timed.empty();
  });
  if (found.size() < 2)
    return untested(source, claim, "needs two batches timed on one device");
  bool falls = true;
  double last = INFINITY;
  for (const auto& [batch, o] : found) {
    falls = falls && o.epoch_s <= last * 1.05;
    last = o.epoch_s;
  }
  const LearningOutcome& best = found.at(most_accurate(found));
  return judged(source, claim,
                best.learnt() ? said(found)
                              : said(found) + "; judged by the times alone: " +
                                    nothing_learnt(best),
                falls);
}

Claim several_are_faster(const Study& study) {
  const std::string source = "seed 002, 3.3.2, 5";
  const std::string claim = "several GPUs reduce training time";
  const ClaimPoints all =
      points_where(study, [](const StudyPoint&) { return true; });
  double best = 0;
  std::string text;
  for (const StudyPoint* p : all) {
    const StudyPoint* one = at(all, 1, p->global_batch);
    if (p->ranks == 1 || one == nullptr || one->model != p->model) continue;
    const double speedup = one->epoch_s / p->epoch_s;
    if (speedup <= best) continue;
    best = speedup;
    text =
        fmt::format("best: batch {} takes {} on one, {} on {}", p->global_batch,
                    said_epoch(*one), said_epoch(*p), p->ranks);
  }
  if (best == 0)
    return untested(source, claim, "no batch timed on one and several devices");
  return judged(source, claim, text, best > 1.05);
}

Claim memory(const Study& study) {
  const std::string source = "seed 002, 3.3.2, 5";
  const std::string claim = "several GPUs relieve memory";
  for (const StudyPoint& p : study.points)
    for (const StudyPoint& one : study.points)
      // Ranks that share a GPU, which are never timed, count its memory
      // together.
      if (p.ranks > 1 && one.ranks == 1 && p.device != "cpu" &&
          p.origin != Origin::correctness && p.why.empty() &&
          p.global_batch == one.global_batch && p.peak_memory_bytes > 0 &&
          one.peak_memory_bytes > 0)
        return judged(
            source, claim,
            fmt::format("batch {}: {} on one device, {} on each of {}",
                        p.global_batch, format_bytes(one.peak_memory_bytes),
                        format_bytes(p.peak_memory_bytes), p.ranks),
            p.peak_memory_bytes < one.peak_memory_bytes);
  return untested(source, claim,
                  "needs one global batch on one and several GPUs");
}

// The same training on one and on several devices.
bool comparable(const RunFacts& one, const RunFacts& many) {
  return one.ranks == 1 && many.ranks > 1 && !one.epochs.empty() &&
         one.model == many.model && one.arm == many.arm &&
         one.global_batch == many.global_batch && one.seed == many.seed &&
         one.lr == many.lr && one.epochs.size() == many.epochs.size();
}

struct RunPair {
  const RunFacts *one = nullptr, *many = nullptr;
  LearningOutcome on_one = {}, on_many = {};
  double apart() const { return on_one.gap - on_many.gap; }
};

// Of those that learnt, if any did, the two that are furthest apart.
std::optional<RunPair> furthest_apart(const Study& study) {
  std::optional<RunPair> out;
  const auto rank = [](const RunPair& p) {
    return std::pair(p.on_one.learnt() && p.on_many.learnt(),
                     std::abs(p.apart()));
  };
  for (const RunFacts& one : study.runs)
    for (const RunFacts& many : study.runs) {
      if (!comparable(one, many)) continue;
      const RunPair pair{&one, &many, outcome_of(one), outcome_of(many)};
      if (std::isfinite(pair.apart()) && (!out || rank(pair) > rank(*out)))
        out = pair;
    }
  return out;
}

Claim overfitting_is_the_devices(const Study& study) {
  const std::string source = "seed 002, 3.3.1, 4.1";
  const std::string claim = "a single GPU overfits, several do not";
  const std::optional<RunPair> pair = furthest_apart(study);
  if (!pair)
    return untested(source, claim,
                    "needs the same batch, seed and rate on one and several");
  const LearningOutcome &one = pair->on_one, &many = pair->on_many;
  for (const LearningOutcome* o : {&one, &many})
    if (!o->learnt()) return untested(source, claim, nothing_learnt(*o));
  const double noise = std::max(0.05, noise_between(one, many));
  const std::string text = fmt::format(
      "furthest apart: batch {}, seed {}: training less validation accuracy is "
      "{} on one device and {} on {}",
      pair->one->global_batch, pair->one->seed, format_percent(one.gap),
      format_percent(many.gap), pair->many->ranks);
  if (!(one.gap > noise))
    return untested(source, claim,
                    text + fmt::format("; under {:.1f} points one device does "
                                       "not overfit here",
                                       100 * noise));
  return judged(source, claim, text, pair->apart() > noise);
}

Claim augmentation(const Study& study) {
  const std::string source = "seed 002, 3.1";
  const std::string claim =
      "flips, rotations and brightness prevent overfitting";
  const Outcomes off = outcomes_of(study, [](const RunFacts& r) {
    return r.arm.find("flip=false") != std::string::npos && !rate_scaled(r.arm);
  });
  const Outcomes on = outcomes_of(study, fixed_arm);
  for (const auto& [batch, without] : off) {
    if (!on.contains(batch)) continue;
    const LearningOutcome& with = on.at(batch);
    for (const LearningOutcome* o : {&with, &without})
      if (!o->learnt()) return untested(source, claim, nothing_learnt(*o));
    const double noise = noise_between(with, without);
    const double less = without.gap - with.gap;
    const std::string text = fmt::format(
        "batch {}: training less validation accuracy is {} "
        "without, {} with augmentation",
        batch, format_percent(without.gap), format_percent(with.gap));
    if (noise > kAccuracyGap && std::abs(less) <= noise)
      return untested(source, claim, text + "; " + within_noise(noise, with));
    return judged(source, claim, text, less > std::max(kAccuracyGap, noise));
  }
  return untested(source, claim, "needs one batch with and without");
}

Claim threshold(const Study& study) {
  const std::string source = "seed 002, 4.1";
  const std::string claim =
      "larger batches compute more efficiently, up to a threshold";
  std::string text;
  double first = 0, last = 0;
  int count = 0;
  for (const StudyPoint* p : points_where(study, [](const StudyPoint& q) {
         return q.ranks == 1 && fixed_rate_arm(q.arm);
       })) {
    if (p->origin != Origin::measured || !(p->samples_per_s > 0)) continue;
    if (count++ == 0) first = p->samples_per_s;
    last = p->samples_per_s;
    text += fmt::format("{}{}: {:.0f}", text.empty() ? "" : ", ",
                        p->global_batch, p->samples_per_s);
  }
  if (count < 2) return untested(source, claim, "needs two batches on one");
  return judged(source, claim, "samples a second by batch, " + text,
                last > first);
}

Claim information(const Study&) {
  return untested(
      "seed 002, 3.3.3", "a mutual-information framework picks batch 64",
      "the seed never defines it; `lockstep batch` on this study's runs gives "
      "a criterion that is defined and tested, with its interval");
}

Claim data_set(const Study&) {
  return untested("seed 002, 3.1", "1,281,167 images of a cyber-security set",
                  "that is ImageNet-1k's training count; the set is not "
                  "published. This study names its own data in each record");
}

}  // namespace

std::vector<Claim> qeios_claims(const Study& study) {
  std::vector<Claim> out;
  for (Claim (*make)(const Study&) :
       {several_are_faster, memory, best_is_64, small_is_slow, degraded_at_128,
        overfitting_is_the_devices, augmentation, threshold, information,
        data_set})
    out.push_back(make(study));
  return out;
}

}  // namespace lockstep
