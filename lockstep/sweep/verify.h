// SPDX-License-Identifier: Apache-2.0
// A time means nothing when the wrong thing was computed: points that differ in
// ranks and strategy alone must begin with the same loss.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lockstep/sweep/points.h"

namespace lockstep {

// Loss of the first step over all ranks' samples; NaN where none was kept.
double first_loss_of(const std::filesystem::path& run);

struct FirstLoss {
  const Point* point = nullptr;
  double loss = 0;
};

struct Verified {
  std::string point, against;  // against: the same on one rank
  double loss = 0, reference = 0;
  bool agrees = false;
};

// As sums of floats in another order may differ.
constexpr double kLossTolerance = 1e-3;

// Every point of several ranks that has its like on one. Left out: models with
// BatchNorm (each rank normalises by its own share), compressed gradients.
std::vector<Verified> verify(std::span<const FirstLoss> losses);

}  // namespace lockstep
