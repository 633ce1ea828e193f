// SPDX-License-Identifier: Apache-2.0
// What would flip a verdict: the batch, the link, the gradients' type or the
// accumulation at which the next better word holds. Search on the model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "lockstep/core/units.h"
#include "lockstep/predict/predict.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostSamples = 1 << 20;
constexpr double kFastestLink = 1000;  // times the link there is
constexpr int kMostAccumulation = 256;

class Search {
 public:
  Search(const Workload& work, const Cluster& cluster, const Prediction& from,
         const Assumptions& assume, const Workload* alone)
      : work_(work),
        cluster_(cluster),
        from_(from),
        assume_(assume),
        alone_(alone) {}

  // The next better word; a run that scales is asked how long it keeps so.
  Verdict goal() const {
    return from_.verdict == Verdict::chokes ? Verdict::fades : Verdict::scales;
  }
  std::optional<Verdict> ask(const Question& q, const Assumptions& a) const {
    const Prediction p = predict(work_, cluster_, q, a, alone_);
    if (!p.memory.fits()) return std::nullopt;
    return p.verdict;
  }
  bool reaches(const Question& q, const Assumptions& a) const {
    const auto got = ask(q, a);
    return got && *got <= goal();
  }
  bool reaches(const Question& q) const { return reaches(q, assume_); }

  const Prediction& from() const { return from_; }
  const Assumptions& assume() const { return assume_; }
  const Cluster& cluster() const { return cluster_; }

 private:
  const Workload& work_;
  const Cluster& cluster_;
  const Prediction& from_;
  const Assumptions& assume_;
  const Workload* alone_;
};

// The smallest value in (low, high] for which `good` holds, to a percent or
// one. Assumes it stays good once it is.
std::int64_t bisect(std::int64_t low, std::int64_t high,
                    const std::function<bool(std::int64_t)>& good) {
  while (high - low > std::max<std::int64_t>(1, high / 128)) {
    const std::int64_t middle = low + (high - low) / 2;
    (good(middle) ? high : low) = middle;
  }
  return high;
}

std::string of_batch(const Question& q) {
  return q.scaling == Scaling::weak ? "a rank" : "in all";
}

std::optional<Flip> larger_batch(const Search& search) {
  Question q = search.from().question;
  const auto good = [&](std::int64_t batch) {
    q.batch = batch;
    return search.reaches(q);
  };
  const std::int64_t start = search.from().question.batch;
  std::int64_t low = start, high = start;
  do {
    low = high;
    high *= 2;
    if (high > kMostSamples) return std::nullopt;
  } while (!good(high));
  const std::int64_t found = bisect(low, high, good);
  return Flip{.what = "batch",
              .value = static_cast<double>(found),
              .becomes = search.goal(),
              .text = fmt::format("from batch {} {} on", found, of_batch(q))};
}

// A run that scales: the batch below which it no longer does.
std::optional<Flip> smaller_batch(const Search& search) {
  Question q = search.from().question;
  const auto good = [&](std::int64_t batch) {
    q.batch = batch;
    return search.reaches(q);
  };
  if (q.batch < 2 || good(1)) return std::nullopt;
  const std::int64_t found = bisect(1, search.from().question.batch, good);
  return Flip{
      .what = "batch",
      .value = static_cast<double>(found),
      .becomes = Verdict::fades,
      .text = fmt::format("no longer below batch {} {}", found, of_batch(q))};
}

// Bus bandwidth of the slowest link at a large message, latency left out.
double bus_bytes_per_s(const Search& search) {
  constexpr double kLarge = 1e9;
  const int n = search.from().question.ranks;
  const CollectiveCost cost =
      collective_cost(fabric_of(search.cluster(), n), Collective::all_reduce,
                      kLarge, Algorithm::ring);
  return bus_factor(Collective::all_reduce, n) * kLarge / cost.transfer_s;
}

std::optional<Flip> faster_link(const Search& search) {
  const Question& q = search.from().question;
  const auto good = [&](double factor) {
    Assumptions a = search.assume();
    a.link.bandwidth *= factor;
    return search.reaches(q, a);
  };
  if (!good(kFastestLink)) return std::nullopt;
  double low = 0, high = std::log(kFastestLink);
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (good(std::exp(middle)) ? high : low) = middle;
  }
  const double rate = bus_bytes_per_s(search) * std::exp(high);
  return Flip{.what = "link_bytes_per_s",
              .value = rate,
              .becomes = search.goal(),
              .text = "with a link of " + format_rate(rate)};
}

std::optional<Flip> half_gradients(const Search& search) {
  Question q = search.from().question;
  if (q.wire != WireType::fp32) return std::nullopt;
  q.wire = WireType::bf16;
  if (!search.reaches(q)) return std::nullopt;
  return Flip{.what = "wire",
              .value = 2,
              .becomes = search.goal(),
              .text = "with bf16 gradients"};
}

// Only where the global batch may grow: strong scaling holds it.
std::optional<Flip> accumulation(const Search& search) {
  Question q = search.from().question;
  if (q.scaling == Scaling::strong) return std::nullopt;
  for (q.accumulate *= 2; q.accumulate <= kMostAccumulation; q.accumulate *= 2)
    if (search.reaches(q))
      return Flip{
          .what = "accumulate",
          .value = static_cast<double>(q.accumulate),
          .becomes = search.goal(),
          .text = fmt::format("with {} passes an update", q.accumulate)};
  return std::nullopt;
}

}  // namespace

std::vector<Flip> flips_of(const Workload& work, const Cluster& cluster,
                           const Prediction& prediction,
                           const Assumptions& assume, const Workload* alone) {
  std::vector<Flip> out;
  if (prediction.question.ranks == 1) return out;
  const Search search(work, cluster, prediction, assume, alone);
  const auto add = [&out](std::optional<Flip> flip) {
    if (flip) out.push_back(std::move(*flip));
  };
  if (prediction.cause == Cause::memory) return out;
  if (prediction.verdict == Verdict::scales) {
    add(smaller_batch(search));
    return out;
  }
  add(larger_batch(search));
  add(faster_link(search));
  add(half_gradients(search));
  add(accumulation(search));
  return out;
}

}  // namespace lockstep
