// SPDX-License-Identifier: Apache-2.0
// Information from a net's own probabilities: H(Y) less validation
// cross-entropy (Barber and Agakov's lower bound), as it stands and after one
// temperature has taken the net's over-confidence away.
#pragma once

#include <span>

namespace lockstep {

// logits[example * classes + class]; unnormalised log-probabilities.
struct ScoredLabels {
  std::span<const double> logits;
  std::span<const int> labels;
  int classes = 0;
};

// Mean of -ln softmax(logits / temperature)[label]. Error{Fault::data} for
// sizes that do not fit together or a logit that is not finite.
double cross_entropy(const ScoredLabels& scored, double temperature = 1);

// The temperature of the smallest cross-entropy, between 1/1000 and 1000.
double fit_temperature(const ScoredLabels& scored);

struct CrossEntropyInformation {
  double nats = 0;            // temperature 1; negative when over-confident
  double corrected_nats = 0;  // fitted on even examples, taken on odd ones
  double temperature = 1;
  double se = 0;  // of `nats`, over the draw of examples
};
// H(Y) is that of the labels given.
CrossEntropyInformation cross_entropy_information(const ScoredLabels& scored);

}  // namespace lockstep
