// SPDX-License-Identifier: Apache-2.0
// Seed 000: batch size and architecture against the number of devices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/analyse/saturation.h"
#include "lockstep/core/units.h"
#include "lockstep/report/claim_points.h"
#include "lockstep/report/claims_routes.h"
#include "lockstep/report/epoch_lines.h"

namespace lockstep {
namespace {

constexpr double kLinearBytes = 12'102'220 * 4.0;

// One model: alone, and as the seed spread it (data_parallel), or with ddp
// where that is all there is.
struct OneAndMany {
  ClaimPoints one, many;
};

OneAndMany one_and_many(const Study& study, const std::string& model) {
  return {.one = points_where(study,
                              [&](const StudyPoint& p) {
                                return p.model == model && p.ranks == 1;
                              }),
          .many = several_devices(study, model)};
}

const StudyPoint* fastest(const ClaimPoints& points, std::int64_t batch) {
  const StudyPoint* best = nullptr;
  for (const StudyPoint* p : points)
    if (p->global_batch == batch &&
        (best == nullptr || p->epoch_s < best->epoch_s))
      best = p;
  return best;
}

// At how many batches several devices beat one, with the last such pair said.
struct Duel {
  int batches = 0, several_win = 0;
  std::string example;
};

Duel duel(const OneAndMany& s, std::int64_t above_batch) {
  Duel out;
  for (const std::int64_t batch : batches_of(s.one)) {
    const StudyPoint* one = at(s.one, 1, batch);
    const StudyPoint* many = fastest(s.many, batch);
    if (batch <= above_batch || many == nullptr) continue;
    ++out.batches;
    out.several_win += many->epoch_s < one->epoch_s ? 1 : 0;
    out.example = fmt::format("at batch {} one takes {}, {} take {}", batch,
                              said_epoch(*one), many->ranks, said_epoch(*many));
  }
  return out;
}

Claim linear_alone(const Study& study) {
  const std::string source = "seed 000, 5.1";
  const std::string claim = "linear: one GPU beats several at every batch size";
  const Duel d = duel(one_and_many(study, "linear"), 0);
  if (d.batches == 0)
    return untested(source, claim, "no batch with one and several devices");
  return judged(source, claim,
                fmt::format("one device is faster at {} of {} batch sizes; {}",
                            d.batches - d.several_win, d.batches, d.example),
                d.several_win == 0);
}

// Measured here; of several devices data_parallel's before ddp's.
const EpochLine* linear_line(const std::vector<EpochLine>& lines,
                             std::int64_t ranks) {
  const auto found = std::ranges::find_if(lines, [&](const EpochLine& line) {
    return line.here && line.model == "linear" && line.ranks == ranks &&
           line.origin == Origin::measured;
  });
  return found == lines.end() ? nullptr : &*found;
}

Claim linear_inverse(const Study& study) {
  const std::string source = "seed 000, 5.1, 6.1.1";
  const std::string claim =
      "linear: epoch time falls as one over the batch size";
  const std::vector<EpochLine> lines = epoch_lines_of(study);
  const EpochLine *on_two = linear_line(lines, 2),
                  *on_one = linear_line(lines, 1);
  if (on_two == nullptr || on_one == nullptr)
    return untested(source, claim,
                    "needs three batch sizes measured on one and two devices");
  const Line &two = on_two->by_inverse_batch, &one = on_one->by_inverse_batch;
  return judged(
      source, claim,
      fmt::format("two devices: {} + {} / batch, R2 {:.3f}; one, where nothing "
                  "is sent: {} + {} / batch, R2 {:.3f}: the fall alone is no "
                  "sign of a choke",
                  format_seconds(two.offset), format_seconds(two.slope), two.r2,
                  format_seconds(one.offset), format_seconds(one.slope),
                  one.r2),
      two.r2 >= 0.95 && two.slope > 0);
}

Claim bytes_moved(const Study& study) {
  const std::string source = "seed 000, 6.1.1";
  const std::string claim =
      "linear: every step moves the model twice, out and back (10 GB an epoch "
      "at batch 20)";
  const ClaimPoints many = one_and_many(study, "linear").many;
  for (const StudyPoint* p : many) {
    // A predicted point sent nothing.
    if (p->strategy != "data_parallel" || !(p->bytes_a_step > 0)) continue;
    return judged(
        source, claim,
        fmt::format("the plan the run carried out sends {} a step, out to the "
                    "replicas and back; twice the parameters are {} (the seed "
                    "rounds to 100 MB)",
                    format_bytes(p->bytes_a_step),
                    format_bytes(2 * kLinearBytes)),
        std::abs(p->bytes_a_step / (2 * kLinearBytes) - 1) < 0.2);
  }
  return untested(source, claim, "no data_parallel run on two devices");
}

// Epoch time against bytes sent in it.
Claim time_by_bytes(const Study& study) {
  const std::string source = "seed 000, 6.1.1";
  const std::string claim =
      "linear: epoch time is linear in the bytes moved (10, 2, 1 GB in 5, 1, "
      "0.5 s: about 2 GB/s)";
  const std::vector<EpochLine> lines = epoch_lines_of(study);
  const EpochLine* two = linear_line(lines, 2);
  if (two == nullptr || !two->by_bytes)
    return untested(source, claim,
                    "needs three batch sizes measured on one and two devices");
  const Line &line = *two->by_bytes, &alone = *two->alone_by_bytes;
  return judged(
      source, claim,
      fmt::format(
          "R2 {:.3f}; the slope reads {} (95 %: {} to {}), but one "
          "device, which sends nothing, has {:.0f} % of that slope: "
          "that share is the steps' own cost, not the link's",
          line.r2, format_rate(1 / line.slope),
          format_rate(1 / line.slope_high),
          line.slope_low > 0 ? format_rate(1 / line.slope_low) : "any rate",
          100 * alone.slope / line.slope),
      line.r2 >= 0.95);
}

Claim choke_is_communication(const Study& study) {
  const std::string source = "seed 000, 6.1.1";
  const std::string claim =
      "linear: what is slow on several GPUs is communication (network choke)";
  const ClaimPoints many = one_and_many(study, "linear").many;
  for (const StudyPoint* p : many) {
    if (p->origin != Origin::measured || !(p->pieces.comm_s > 0)) continue;
    const double share = p->pieces.comm_s / p->step.value;
    return judged(
        source, claim,
        fmt::format("timed directly: {} of a step of {} ({:.0f} %) at "
                    "batch {} on {} devices are messages",
                    format_seconds(p->pieces.comm_s),
                    format_seconds(p->step.value), 100 * share, p->global_batch,
                    p->ranks),
        share >= 0.5);
  }
  return untested(source, claim, "no timed messages of several devices");
}

Claim conv_batch_10(const Study& study) {
  const std::string source = "seed 000, 5.2";
  const std::string claim =
      "conv1d at batch 10: 1, 2, 3 and 4 GPUs take almost the same time";
  const OneAndMany s = one_and_many(study, "conv1d");
  const StudyPoint *one = at(s.one, 1, 10), *many = fastest(s.many, 10);
  if (one == nullptr || many == nullptr)
    return untested(source, claim, "no batch 10 on one and several devices");
  return judged(source, claim,
                fmt::format("one takes {}, {} take {}", said_epoch(*one),
                            many->ranks, said_epoch(*many)),
                one->epoch_s / many->epoch_s <= kSame &&
                    many->epoch_s / one->epoch_s <= kSame);
}

Claim conv_scales(const Study& study) {
  const std::string source = "seed 000, 5.2";
  const std::string claim = "conv1d above batch 10: more GPUs are faster";
  const Duel d = duel(one_and_many(study, "conv1d"), 10);
  if (d.batches == 0)
    return untested(source, claim,
                    "no batch above 10 on one and several devices");
  return judged(source, claim,
                fmt::format("several devices are faster at {} of {} batch "
                            "sizes; {}",
                            d.several_win, d.batches, d.example),
                d.several_win == d.batches);
}

Claim conv_smallest_best(const Study& study) {
  const std::string source = "seed 000, 5.2";
  const std::string claim =
      "conv1d on one GPU: the smallest batch is the fastest, and time does not "
      "follow the batch";
  const ClaimPoints one = one_and_many(study, "conv1d").one;
  const StudyPoint* smallest = at(one, 1, 10);
  if (smallest == nullptr || one.size() < 2)
    return untested(source, claim, "needs batch 10 and a larger one");
  const StudyPoint* best = *std::ranges::min_element(
      one, {}, [](const StudyPoint* p) { return p->epoch_s; });
  return judged(
      source, claim,
      fmt::format("the fastest is batch {} with {}; batch 10 takes {}",
                  best->global_batch, said_epoch(*best), said_epoch(*smallest)),
      best->global_batch <= 10);
}

Claim conv_saturates(const Study& study) {
  const std::string source = "seed 000, 6.2";
  const std::string claim =
      "conv1d: epoch time stops falling at about 10 instances a GPU";
  for (const SaturationRow& row : saturations_of(study))
    if (row.model == "conv1d" && std::isfinite(row.at.per_rank))
      return judged(
          source, claim,
          fmt::format("on {} devices two lines meet at {:.1f} instances a "
                      "device (95 %: {:.1f} to {:.1f}){}{}",
                      row.ranks, row.at.per_rank, row.at.low, row.at.high,
                      row.at.note.empty() ? "" : "; ", row.at.note),
          row.at.low <= 10 && row.at.high >= 10);
  return untested(source, claim, "needs four batch sizes of conv1d");
}

Claim conv_choke_at_2(const Study& study) {
  const std::string source = "seed 000, 6.2";
  const std::string claim =
      "conv1d would choke at batch 2 on 2 GPUs (expected, not tried there)";
  const OneAndMany s = one_and_many(study, "conv1d");
  const StudyPoint *one = at(s.one, 1, 2), *two = at(s.many, 2, 2);
  if (one == nullptr || two == nullptr)
    return untested(source, claim, "no batch 2 on one and two devices");
  return judged(source, claim,
                fmt::format("one takes {}, two take {}", said_epoch(*one),
                            said_epoch(*two)),
                one->epoch_s / two->epoch_s <= 1.05);
}

Claim sizes(const Study& study) {
  const std::string source = "seed 000, 3.4";
  const std::string claim = "the models have 12,102,220 and 376,200 parameters";
  std::int64_t linear = 0, conv = 0;
  for (const RunFacts& run : study.runs) {
    if (run.model == "linear") linear = run.parameters;
    if (run.model == "conv1d") conv = run.parameters;
  }
  if (linear == 0 && conv == 0)
    return untested(source, claim, "neither model was run");
  return judged(
      source, claim,
      fmt::format("linear {}, conv1d {}", format_count(linear),
                  format_count(conv)),
      (linear == 0 || linear == 12'102'220) && (conv == 0 || conv == 376'200));
}

Claim trained_accuracy(const Study& study) {
  const std::string source = "seed 000, 3.3";
  const std::string claim =
      "both models pass 99 % on their training data in 100 epochs at batch 10";
  double worst = 2;
  std::string text;
  for (const RunFacts& run : study.runs)
    if (run.epochs.size() >= 100 && run.global_batch == 10) {
      const double a = run.epochs.back().train_accuracy;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", run.model,
                          format_percent(a));
      worst = std::min(worst, a);
    }
  if (worst > 1)
    return untested(source, claim,
                    "no run of 100 epochs in this study: "
                    "recipes/linear.toml and conv1d.toml are those runs");
  return judged(source, claim, text, worst > 0.99);
}

Claim conclusion(const Study& study) {
  const std::string source = "seed 000, 7";
  const std::string claim =
      "large parameters with little computation choke; much computation with "
      "few parameters scales";
  const OneAndMany linear = one_and_many(study, "linear"),
                   conv = one_and_many(study, "conv1d");
  for (const std::int64_t batch : batches_of(conv.many)) {
    const StudyPoint *a1 = at(linear.one, 1, batch),
                     *a2 = fastest(linear.many, batch),
                     *b1 = at(conv.one, 1, batch),
                     *b2 = fastest(conv.many, batch);
    if (a1 == nullptr || a2 == nullptr || b1 == nullptr || b2 == nullptr)
      continue;
    const double a = a1->epoch_s / a2->epoch_s, b = b1->epoch_s / b2->epoch_s;
    return judged(
        source, claim,
        fmt::format("best speed-up at batch {}: linear {:.2f} on {}{}, conv1d "
                    "{:.2f} on {}{}",
                    batch, a, a2->ranks,
                    a2->origin == Origin::measured ? "" : " (predicted)", b,
                    b2->ranks,
                    b2->origin == Origin::measured ? "" : " (predicted)"),
        a <= 1.05 && b > 1.05);
  }
  return untested(source, claim, "no batch that both models share");
}

}  // namespace

std::vector<Claim> stevens_claims(const Study& study) {
  std::vector<Claim> out;
  for (Claim (*make)(const Study&) :
       {linear_alone, linear_inverse, same_from_two_on, bytes_moved,
        time_by_bytes, choke_is_communication, why_equal, conv_batch_10,
        conv_scales, conv_smallest_best, conv_saturates, conv_choke_at_2, sizes,
        trained_accuracy, conclusion})
    out.push_back(make(study));
  return out;
}

}  // namespace lockstep
