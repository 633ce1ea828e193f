// SPDX-License-Identifier: Apache-2.0
// What a validation set of N examples can tell of an accuracy: two standard
// errors over their draw. Seeds do not make it less: they share the examples.
#pragma once

#include <cstdint>

namespace lockstep {

// Half the 95 % interval; 0 where the number of examples is not known.
double accuracy_noise(double accuracy, std::int64_t examples);
// Of the difference of two accuracies.
double difference_noise(double a, double b, std::int64_t examples);

// Better than a guess by more than its noise. Where the classes are not
// known there is nothing to hold it against: any accuracy counts.
bool above_chance(double accuracy, std::int64_t classes, std::int64_t examples);

}  // namespace lockstep
