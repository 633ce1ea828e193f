// SPDX-License-Identifier: Apache-2.0
// How much predictions say about labels, in nats: I(Y; Yhat) from a confusion
// matrix or from accuracy alone. Which form to trust: docs/batch-size.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// count[true * classes + predicted].
struct Confusion {
  std::int64_t classes = 0;
  std::vector<std::int64_t> count;
};

// Error{Fault::data} for unequal lengths, no examples, or a class out of range.
Confusion count_confusion(std::span<const int> labels,
                          std::span<const int> predictions, int classes);

std::int64_t num_examples(const Confusion& c);
double accuracy(const Confusion& c);
// H(Y) of the labels as they occur. 0 when there is only one.
double label_entropy(const Confusion& c);

// Maximum likelihood; too high by about (C-1)^2 / 2N when there is nothing.
double plug_in_information(const Confusion& c);
// Delta method, over the draw of examples.
double plug_in_standard_error(const Confusion& c);

// The same less the bias of empty cells. May be slightly negative, and above
// H(Y) by (C-1)/2N for a perfect classifier: clip for display only.
double miller_madow_information(const Confusion& c);

// Of an accuracy, over the draw of so many examples.
double accuracy_standard_error(double accuracy, std::int64_t examples);

// Fano's lower bound from accuracy alone. `entropy` is H(Y): ln C when the
// classes are equally frequent. Error{Fault::data} for fewer than two classes.
double fano_information(double accuracy, std::int64_t classes, double entropy);
// For equally frequent classes, and 0 at or below chance: there the bound
// rises again, since a net that is always wrong says something too.
double information_of_accuracy(double accuracy, std::int64_t classes);
// Of information_of_accuracy, over the draw of N examples.
double fano_standard_error(double accuracy, std::int64_t classes,
                           std::int64_t examples);
// The accuracy at which information_of_accuracy is `nats`.
double accuracy_of_information(double nats, std::int64_t classes);

// Are predictions and labels independent? G = 2 N I_pl against chi-square.
struct IndependenceTest {
  double g = 0;
  double degrees_of_freedom = 0;
  double p_value = 1;
};
IndependenceTest test_independence(const Confusion& c);

// Enough examples for the confusion matrix: N >= 10 C^2. Else take Fano.
bool can_correct_bias(std::int64_t examples, std::int64_t classes);

}  // namespace lockstep
