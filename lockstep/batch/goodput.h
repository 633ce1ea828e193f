// SPDX-License-Identifier: Apache-2.0
// What a larger batch buys: examples a second, times how much each still
// helps. Goodput after Pollux; the gradient-channel rate is our own definition.
#pragma once

#include <cstdint>
#include <functional>

#include "lockstep/batch/step_time.h"

namespace lockstep {

// Progress of one example at `batch` against one at `base_batch`, by the noise
// scale: (phi + M0) / (phi + B).
double statistical_efficiency(double noise_scale, double base_batch,
                              double batch);

// Useful examples a second.
double goodput(double throughput, double noise_scale, double base_batch,
               double batch);

// For step time a + b B/K: B* = sqrt(a K phi / b). Zero when a step has no
// fixed cost: then the smallest batch is the best one.
double best_goodput_batch(const LinearStepTime& step, std::int64_t ranks,
                          double noise_scale);

struct BatchRange {
  double least = 1, most = 1;
};

struct BestBatch {
  double batch = 0;
  double goodput = 0;
};

// Tries 50 batch sizes in geometric steps. `step_s` gives the time of a step of
// so many examples over all ranks.
BestBatch search_goodput(const std::function<double(double)>& step_s,
                         double noise_scale, double base_batch,
                         BatchRange range);

// One step as a Gaussian channel of signal to noise B / phi:
// 0.5 ln(1 + B / phi) nats for each effective dimension.
double gradient_channel_nats(double batch, double noise_scale);
// Its maximum over a step time a + b B/K: phi x, (1+x) ln(1+x) - x = aK/(b
// phi).
double best_channel_batch(const LinearStepTime& step, std::int64_t ranks,
                          double noise_scale);

}  // namespace lockstep
