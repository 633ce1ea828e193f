// SPDX-License-Identifier: Apache-2.0
// Mutual information of a label and a continuous variable from nearest
// neighbours (Ross 2014), and its form for normal outcomes.
#pragma once

#include <span>
#include <vector>

namespace lockstep {

// Values sorted once, labels given anew: a permutation test asks a thousand
// times about the same values.
class RossEstimator {
 public:
  // Error{Fault::data} when there are no values or one is not finite.
  explicit RossEstimator(std::span<const double> values, int k = 3);

  // labels[i] >= 0 belongs to values[i]. In nats, not clipped. A point whose
  // label no other has is left out. Error{Fault::data} when none is left.
  double information(std::span<const int> labels) const;

 private:
  int k_;
  std::vector<double> sorted_;
  std::vector<std::size_t> order_;  // sorted_[i] was values[order_[i]]
  std::vector<double> psi_;
};

// The same, clipped at zero.
double ross_information(std::span<const int> labels,
                        std::span<const double> values, int k = 3);

// -0.5 ln(1 - eta^2), eta^2 the share of variance between labels: for few
// points, if the outcomes are normal with one spread. Too high by about
// (labels - 1) / 2n. Infinite when labels explain all of it.
double gaussian_information(std::span<const int> labels,
                            std::span<const double> values);

// H of the labels as they occur.
double entropy_of_labels(std::span<const int> labels);

}  // namespace lockstep
