// SPDX-License-Identifier: Apache-2.0
// Finds a model with so many parameters that costs so many FLOPs. Ballast
// makes the parameters exact; positions, then single rows, bring the FLOPs to
// within the width of one matrix.
#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/core/units.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

// A position is at least one sample of the clip.
constexpr std::int64_t kMaxPositions = kClipSamples;

// The largest w with layers * w * w + classes * w <= budget; 0 if there is
// none.
std::int64_t widest(std::int64_t layers, std::int64_t classes,
                    std::int64_t budget) {
  const auto fits = [&](std::int64_t w) {
    return w * (layers * w + classes) <= budget;
  };
  const double d = static_cast<double>(layers),
               c = static_cast<double>(classes);
  const double root = std::sqrt(
      c * c + 4 * d * static_cast<double>(std::max<std::int64_t>(budget, 0)));
  auto w = static_cast<std::int64_t>((root - c) / (2 * d));
  while (w > 0 && !fits(w)) --w;
  while (fits(w + 1)) ++w;
  return w;
}

[[noreturn]] void impossible(const char* setting, std::int64_t asked,
                             const char* bound, std::int64_t nearest) {
  throw Error(Fault::config, fmt::format("model.{}", setting),
              fmt::format("{} is out of reach, {} {} is possible",
                          format_count(asked), bound, format_count(nearest)),
              "the other number, model.layers and model.classes move it");
}

}  // namespace

std::int64_t VariableSize::ballast_of(std::int64_t layer) const {
  return ballast / layers + (layer < ballast % layers ? 1 : 0);
}

VariableSize variable_size(const ModelConfig& config) {
  const std::int64_t d = config.layers, c = config.classes;
  const std::int64_t multiply_adds = config.variable_flops / 2;
  const std::int64_t by_params = widest(d, c, config.variable_params - c);
  const std::int64_t by_flops = widest(d, c, multiply_adds);
  if (by_params == 0)
    impossible("variable_params", config.variable_params, "at least",
               d + 2 * c);
  if (by_flops == 0)
    impossible("variable_flops", config.variable_flops, "at least",
               2 * (d + c));
  const std::int64_t w = std::min(by_params, by_flops);
  const std::int64_t body = d * w * w;
  VariableSize size{.width = w, .layers = d};
  size.positions = (multiply_adds - c * w) / body;
  const std::int64_t left = multiply_adds - c * w - size.positions * body;
  size.extra_rows = (left + w / 2) / w;
  if (size.positions > kMaxPositions)
    impossible("variable_flops", config.variable_flops, "at most",
               2 * (kMaxPositions * body + c * w));
  size.ballast = config.variable_params - body - c * w - c;
  return size;
}

}  // namespace lockstep
