// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/accuracy_noise.h"

#include <cmath>

#include "lockstep/batch/information.h"

namespace lockstep {

double accuracy_noise(double accuracy, std::int64_t examples) {
  if (examples < 1) return 0;
  return 2 * accuracy_standard_error(accuracy, examples);
}

double difference_noise(double a, double b, std::int64_t examples) {
  return std::hypot(accuracy_noise(a, examples), accuracy_noise(b, examples));
}

bool above_chance(double accuracy, std::int64_t classes,
                  std::int64_t examples) {
  if (classes < 2) return true;
  const double chance = 1 / static_cast<double>(classes);
  return accuracy > chance + accuracy_noise(chance, examples);
}

}  // namespace lockstep
