// SPDX-License-Identifier: Apache-2.0
// Seed 002: MobileNetV2, which batch size, and is overfitting the device's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/core/units.h"
#include "lockstep/report/claim_points.h"

namespace lockstep {
namespace {

// Accuracies this far apart count as different: seeds differ by that much.
constexpr double kAccuracyGap = 0.02;

// Means over seeds at one batch.
struct Outcome {
  double val_accuracy = 0, gap = 0;
  double epoch_s = 0;  // NaN: no run was timed
  int runs = 0, timed = 0;
};

bool fixed_arm(const RunFacts& r) { return r.arm.empty() || r.arm == "fixed"; }

template <class Wanted>
std::map<std::int64_t, Outcome> by_batch(const Study& study,
                                         const Wanted& wanted) {
  std::map<std::int64_t, Outcome> out;
  for (const RunFacts& run : study.runs) {
    if (run.epochs.empty() || !wanted(run)) continue;
    const EpochSample& last = run.epochs.back();
    if (!std::isfinite(last.val_accuracy)) continue;
    Outcome& o = out[run.global_batch];
    o.val_accuracy += last.val_accuracy;
    o.gap += last.train_accuracy - last.val_accuracy;
    ++o.runs;
    if (run.not_timed.empty()) o.epoch_s += run.epoch_s, ++o.timed;
  }
  for (auto& [batch, o] : out) {
    o.val_accuracy /= o.runs, o.gap /= o.runs;
    o.epoch_s /= o.timed;
  }
  return out;
}

std::string said(const std::map<std::int64_t, Outcome>& outcomes) {
  std::string text;
  for (const auto& [batch, o] : outcomes) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", batch,
                        format_percent(o.val_accuracy));
    if (o.timed > 0)
      text += fmt::format(" in {} an epoch", format_seconds(o.epoch_s));
  }
  return text;
}

std::int64_t most_accurate(const std::map<std::int64_t, Outcome>& outcomes) {
  return std::ranges::max_element(
             outcomes, {},
             [](const auto& entry) { return entry.second.val_accuracy; })
      ->first;
}

Claim best_is_64(const Study& study) {
  const std::string source = "seed 002, 4.1, 5";
  const std::string claim =
      "batch 64 has the highest validation accuracy and is the best trade-off";
  const auto found = by_batch(study, fixed_arm);
  if (found.size() < 3 || !found.contains(64))
    return untested(source, claim, "needs batch 64 and two others, trained");
  const std::int64_t best = most_accurate(found);
  return judged(
      source, claim,
      fmt::format("best at batch {}; validation {}", best, said(found)),
      best == 64);
}

Claim degraded_at_128(const Study& study) {
  const std::string source = "seed 002, 3.3.3, 4.1";
  const std::string claim =
      "batch 128 loses accuracy because gradients become less effective";
  const auto fixed = by_batch(study, fixed_arm);
  const auto scaled =
      by_batch(study, [](const RunFacts& r) { return r.arm == "linear"; });
  if (!fixed.contains(128) || !scaled.contains(128) || fixed.size() < 2)
    return untested(source, claim,
                    "needs batch 128 with a fixed and a scaled rate");
  const double best = fixed.at(most_accurate(fixed)).val_accuracy;
  const double at_fixed = fixed.at(128).val_accuracy,
               at_scaled = scaled.at(128).val_accuracy;
  return judged(
      source, claim,
      fmt::format("best of the fixed arm {}; batch 128 with the fixed rate {}, "
                  "with the rate scaled {}: what scaling brings back was the "
                  "rate's, not the batch's",
                  format_percent(best), format_percent(at_fixed),
                  format_percent(at_scaled)),
      best - at_fixed > kAccuracyGap && at_scaled - at_fixed <= kAccuracyGap);
}

Claim small_is_slow(const Study& study) {
  const std::string source = "seed 002, 4.1";
  const std::string claim =
      "smaller batches take longer; 16 is accurate but slow";
  const auto found = by_batch(study, [](const RunFacts& r) {
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
  return judged(source, claim, said(found), falls);
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
      if (p.ranks > 1 && one.ranks == 1 && p.device != "cpu" &&
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

// The same global batch, seed and rate on one and on several devices.
Claim overfitting_is_the_devices(const Study& study) {
  const std::string source = "seed 002, 3.3.1, 4.1";
  const std::string claim = "a single GPU overfits, several do not";
  double worst = -1;
  std::string text;
  for (const RunFacts& one : study.runs)
    for (const RunFacts& many : study.runs) {
      if (one.ranks != 1 || many.ranks < 2 || one.epochs.empty() ||
          one.global_batch != many.global_batch || one.seed != many.seed ||
          one.lr != many.lr || one.epochs.size() != many.epochs.size())
        continue;
      const EpochSample &a = one.epochs.back(), &b = many.epochs.back();
      const double apart = std::abs((a.train_accuracy - a.val_accuracy) -
                                    (b.train_accuracy - b.val_accuracy));
      if (!(apart > worst)) continue;
      worst = apart;
      text = fmt::format(
          "batch {}, seed {}: training less validation accuracy is {} on one "
          "device and {} on {}",
          one.global_batch, one.seed,
          format_percent(a.train_accuracy - a.val_accuracy),
          format_percent(b.train_accuracy - b.val_accuracy), many.ranks);
    }
  if (worst < 0)
    return untested(source, claim,
                    "needs the same batch, seed and rate on one and several");
  return judged(source, claim, "furthest apart: " + text, worst > 0.05);
}

Claim augmentation(const Study& study) {
  const std::string source = "seed 002, 3.1";
  const std::string claim =
      "flips, rotations and brightness prevent overfitting";
  const auto off = by_batch(study, [](const RunFacts& r) {
    return r.arm.find("flip=false") != std::string::npos;
  });
  const auto on = by_batch(study, fixed_arm);
  for (const auto& [batch, without] : off) {
    if (!on.contains(batch)) continue;
    const Outcome& with = on.at(batch);
    return judged(source, claim,
                  fmt::format("batch {}: training less validation accuracy is "
                              "{} without, {} with augmentation",
                              batch, format_percent(without.gap),
                              format_percent(with.gap)),
                  with.gap < without.gap - kAccuracyGap);
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
         return q.ranks == 1 && (q.arm.empty() || q.arm == "fixed");
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
