// SPDX-License-Identifier: Apache-2.0
// How well one source predicts another: rows whose configuration a second
// source measured too, with that source's efficiency. What remains there, no
// model of such rows can take away.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lockstep/predict/table_validate.h"

namespace lockstep {

// What two rows of different sources must share to count as repeats.
enum class Repeats {
  configuration,  // model, GPU, number of GPUs and nodes, link class, software,
                  // 16 or 32 bits
  machine         // also the host, as far as it is named, and the batch
};
std::string_view word(Repeats repeats);

struct Repeated {
  HeldBack held;
  double elsewhere = 1;  // median efficiency of the other sources' rows
};
std::vector<Repeated> repeated(std::span<const HeldBack> rows, Repeats repeats);

}  // namespace lockstep
