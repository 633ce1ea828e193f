// SPDX-License-Identifier: Apache-2.0
// A grid of predictions as a picture: speed-up against ranks, one curve with
// its 90 % band for each device, link, strategy and batch size.
#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/grid.h"

namespace lockstep {

// Curves beyond this many cannot be told apart: the picture says how many were
// left out.
constexpr std::size_t kMostCurves = 8;

// SVG; both axes in doublings.
std::string speedup_svg(const Subject& subject, const Grid& grid,
                        const std::vector<GridPoint>& points);

}  // namespace lockstep
