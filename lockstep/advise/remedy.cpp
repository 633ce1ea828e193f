// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/remedy.h"

#include <algorithm>
#include <functional>

#include "lockstep/advise/price.h"
#include "lockstep/predict/predictor.h"

namespace lockstep {
namespace {

constexpr double kWorthNaming = 0.99;  // of the time without the remedy
constexpr std::int64_t kSmallBucketBytes = 4 << 20;
constexpr double kTopShare = 0.02;  // one value in a hundred, with its index

// The run with the most devices, the fastest of those: where it hurts.
const Choice* widest(const std::vector<Choice>& ranking) {
  const Choice* out = nullptr;
  for (const Choice& c : ranking)
    if (!out || c.prediction.question.ranks > out->prediction.question.ranks)
      out = &c;
  return out;
}

struct Remedy {
  const char* label;
  std::function<void(Question&)> change = [](Question&) {};
  std::function<void(Assumptions&)> assume = [](Assumptions&) {};
};

std::vector<Remedy> remedies() {
  return {
      {"larger_batch", [](Question& q) { q.batch *= 4; }},
      {"accumulation", [](Question& q) { q.batch *= 4, q.accumulate *= 4; }},
      {"bf16_gradients", [](Question& q) { q.wire = WireType::bf16; }},
      {"top_1_percent", [](Question& q) { q.compression = kTopShare; }},
      {"local_sgd_8",
       [](Question& q) {
         q.method = Method::local_sgd;
         q.strategy.local_steps = 8;
       }},
      {"sharding", [](Question& q) { q.method = Method::sharded; }},
      {"small_buckets",
       [](Question& q) { q.strategy.bucket_bytes = kSmallBucketBytes; }},
      {.label = "link_twice_as_fast",
       .assume = [](Assumptions& a) { a.link.bandwidth *= 2; }},
      {.label = "loader_twice_as_fast",
       .assume = [](Assumptions& a) { a.input *= 2; }}};
}

}  // namespace

std::vector<Choice> remedies_of(const Subject& subject, const Grid& grid,
                                const Goal& goal,
                                const std::vector<Choice>& ranking) {
  std::vector<Choice> out;
  const Choice* from = widest(ranking);
  if (!from || from->prediction.question.ranks == 1 ||
      from->prediction.verdict == Verdict::scales)
    return out;
  const Cluster& cluster = grid.clusters[from->cluster];
  Predictor ask(subject, cluster, grid.software);
  for (const Remedy& remedy : remedies()) {
    Question q = from->prediction.question;
    remedy.change(q);
    Choice c = priced({.label = remedy.label,
                       .cluster = from->cluster,
                       .prediction = ask(q, remedy.assume)},
                      goal);
    if (c.prediction.memory.fits() && c.time_s < kWorthNaming * from->time_s)
      out.push_back(std::move(c));
  }
  std::ranges::stable_sort(out, {}, &Choice::time_s);
  return out;
}

}  // namespace lockstep
