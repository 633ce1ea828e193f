// SPDX-License-Identifier: Apache-2.0
// How many samples trainings took until they reached a validation accuracy:
// the measured half of "how long to this accuracy?". Step times are the other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

// Runs of one batch size at the learning rate that got there soonest.
struct TargetReached {
  double batch = 0;
  double lr = 0;
  double samples = 0;  // median over its runs
  std::size_t runs = 0, reached = 0;
};

struct TargetEvidence {
  std::string model;
  double accuracy = 0;
  std::vector<TargetReached> batches;  // rising
  // 0: unknown. From three batch sizes on by how the steps bend (McCandlish et
  // al. 2018), else the median of what the runs measured.
  double noise_scale = 0;
  bool noise_fitted = false;
  double min_examples = 0;  // of that fit, however small the batch
  // Half of the 90 % interval of ln(samples) of one more run; 0: nothing was
  // repeated, so nobody knows.
  double log_half_90 = 0;

  const TargetReached* at(double batch) const;
  std::size_t runs() const;
};

// A run folder, or a study or folder of them. Error{Fault::config} when no
// batch size has most of its runs reach the accuracy, when runs are of
// different models, or when nothing was held back for validation.
TargetEvidence read_target_evidence(const std::filesystem::path& path,
                                    double accuracy);

}  // namespace lockstep
