// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lockstep/data/random.h"

namespace lockstep {
namespace {

// Positions of each class, ascending.
std::vector<Positions> by_class(const Positions& positions,
                                std::span<const std::int32_t> labels) {
  std::vector<Positions> classes;
  for (const std::int64_t at : positions) {
    const auto label =
        static_cast<std::size_t>(labels[static_cast<std::size_t>(at)]);
    if (label >= classes.size()) classes.resize(label + 1);
    classes[label].push_back(at);
  }
  return classes;
}

// How many each class gives: water fills the classes to one level, the first
// ones take one more where it does not come out even.
std::vector<std::int64_t> quotas(const std::vector<Positions>& classes,
                                 std::int64_t count) {
  std::vector<std::size_t> small_first(classes.size());
  std::iota(small_first.begin(), small_first.end(), 0);
  std::ranges::stable_sort(small_first, {},
                           [&](std::size_t c) { return classes[c].size(); });
  std::vector<std::int64_t> quota(classes.size());
  auto left_classes = static_cast<std::int64_t>(classes.size());
  for (const std::size_t c : small_first) {
    quota[c] = std::min(static_cast<std::int64_t>(classes[c].size()),
                        count / left_classes);
    count -= quota[c];
    --left_classes;
  }
  return quota;
}

}  // namespace

Parts split_by_class(std::span<const std::int32_t> labels, double share,
                     std::uint64_t seed) {
  Positions all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  Parts parts;
  std::uint64_t number = 0;
  for (Positions& members : by_class(all, labels)) {
    Random(mix_seed(seed, number++)).shuffle(std::span(members));
    const auto size = static_cast<std::int64_t>(members.size());
    const auto held = std::clamp<std::int64_t>(
        std::llround(share * static_cast<double>(size)), size > 1 ? 1 : 0,
        std::max<std::int64_t>(size - 1, 0));
    parts.validation.insert(parts.validation.end(), members.begin(),
                            members.begin() + held);
    parts.train.insert(parts.train.end(), members.begin() + held,
                       members.end());
  }
  std::ranges::sort(parts.train);
  std::ranges::sort(parts.validation);
  return parts;
}

Positions limit_evenly(const Positions& positions,
                       std::span<const std::int32_t> labels,
                       std::int64_t count) {
  const auto size = static_cast<std::int64_t>(positions.size());
  if (count <= 0 || count >= size) return positions;
  const std::vector<Positions> classes = by_class(positions, labels);
  const std::vector<std::int64_t> quota = quotas(classes, count);
  Positions kept;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto members = static_cast<std::int64_t>(classes[c].size());
    for (std::int64_t i = 0; i < quota[c]; ++i)
      kept.push_back(
          classes[c][static_cast<std::size_t>(i * members / quota[c])]);
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace lockstep
