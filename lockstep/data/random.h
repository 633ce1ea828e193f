// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine: SplitMix64 (Steele, Lea,
// Flood 2014). The standard library's distributions differ between vendors;
// orders and splits must not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace lockstep {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // 0 … bound-1, every one equally likely: draws that would favour the small
  // ones are thrown away.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t unfair = (0 - bound) % bound;
    std::uint64_t draw = next();
    while (draw < unfair) draw = next();
    return draw % bound;
  }

  // [0, 1) in steps of 2^-53.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::uint64_t left = values.size(); left > 1; --left)
      std::swap(values[left - 1], values[below(left)]);
  }

 private:
  std::uint64_t state_;
};

// One seed from two, so that neighbours (epoch 3 and 4, sample 7 and 8) give
// unrelated streams.
inline std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t part) {
  return Random(Random(seed).next() ^ part).next();
}

// Where the seeds of an epoch's samples come from.
struct SampleSeeds {
  // Who is mirrored was drawn once, and changes from one epoch to the next
  // (data.flip_alternate). The lowest bit of a sample's seed says it.
  struct Alternation {
    std::uint64_t seed = 0;
    bool odd = false;  // the epoch is
  };

  std::uint64_t of(std::int64_t sample) const {
    const auto number = static_cast<std::uint64_t>(sample);
    const std::uint64_t seed = mix_seed(epoch, number);
    if (!alternation) return seed;
    const bool drawn = (mix_seed(alternation->seed, number) >> 63) != 0;
    return (seed & ~std::uint64_t{1}) | (drawn != alternation->odd ? 1 : 0);
  }

  std::uint64_t epoch = 0;
  std::optional<Alternation> alternation = {};
};

}  // namespace lockstep
