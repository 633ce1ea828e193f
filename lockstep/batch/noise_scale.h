// SPDX-License-Identifier: Apache-2.0
// The gradient noise scale, tr(Sigma) / |G|^2: the batch size at which noise
// and signal of a step are equal (McCandlish et al. 2018). From squared norms
// of gradients over two batch sizes; which norms: docs/batch-size.md.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

// One step's unbiased estimates. Either may be negative alone: average first.
struct NoiseSample {
  double gradient_sq = 0;  // |G|^2
  double trace = 0;        // tr(Sigma), for one example
};

// From the squared norm of the mean gradient over two batch sizes.
struct TwoBatchNorms {
  double small_sq = 0, small_batch = 0;
  double big_sq = 0, big_batch = 0;
};
NoiseSample two_batch_estimate(const TwoBatchNorms& norms);

// From `count` micro-gradients (ranks x accumulation) of `micro_batch` examples
// each: the mean of their squared norms, taken before the reduction, and the
// squared norm of their mean. One rank alone, ranks, accumulation and both
// together are all this case.
struct MicroNorms {
  double mean_of_sq = 0;
  double sq_of_mean = 0;
  std::int64_t count = 0;
  double micro_batch = 0;
};
NoiseSample micro_gradient_estimate(const MicroNorms& norms);

// Smoothed over steps so that the window is constant in examples.
class NoiseAverage {
 public:
  // Drops a sample that is not finite and counts it. `memory` in [0, 1).
  void add(const NoiseSample& sample, double memory);

  // 0.999^(batch / base_batch)
  static double default_memory(double batch, double base_batch);

  std::int64_t num_samples() const { return num_samples_; }
  std::int64_t num_dropped() const { return num_dropped_; }
  double gradient_sq() const;  // clipped at 0
  // tr(Sigma) / base_batch, not below 1e-6: the variance of a step's gradient.
  double variance(double base_batch) const;
  // Infinite while |G|^2 is not told apart from zero.
  double noise_scale() const;

  // What it holds, to be written down and put back.
  struct State {
    double gradient_sq = 0, trace = 0, weight = 0;
    std::int64_t num_samples = 0, num_dropped = 0;
  };
  State state() const {
    return {gradient_sq_, trace_, weight_, num_samples_, num_dropped_};
  }
  void restore(const State& s) {
    gradient_sq_ = s.gradient_sq, trace_ = s.trace, weight_ = s.weight;
    num_samples_ = s.num_samples, num_dropped_ = s.num_dropped;
  }

 private:
  double gradient_sq_ = 0, trace_ = 0, weight_ = 0;
  std::int64_t num_samples_ = 0, num_dropped_ = 0;
};

struct NoiseScale {
  double value = 0;          // ratio of the averages
  double se = 0;             // block jackknife
  double low = 0, high = 0;  // 90 %, on the logarithm
  bool resolved = false;     // false: |G|^2 is not above zero by its own error
  double gradient_sq = 0, gradient_sq_se = 0;
  double trace = 0, trace_se = 0;
};

// Of many steps' samples. Blocks of consecutive steps are left out in turn, so
// the error bar holds for samples that hang together. Error{Fault::data} for
// fewer than ten finite samples.
NoiseScale noise_scale(std::span<const NoiseSample> samples);

}  // namespace lockstep
