// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/learning_rate_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

double scale_of(double base_batch, double batch) {
  if (!(base_batch > 0 && batch > 0))
    throw Error(Fault::config, "batch",
                fmt::format("{} from {} is not a scale", batch, base_batch));
  return batch / base_batch;
}

}  // namespace

double linear_lr(double base_lr, double base_batch, double batch) {
  return base_lr * scale_of(base_batch, batch);
}

double square_root_lr(double base_lr, double base_batch, double batch) {
  return base_lr * std::sqrt(scale_of(base_batch, batch));
}

double adascale_gain(double variance, double gradient_sq, double scale) {
  if (!(variance > 0 && gradient_sq >= 0 && scale > 0))
    throw Error(Fault::data, "AdaScale",
                fmt::format("variance {}, |G|^2 {} and scale {} have no gain",
                            variance, gradient_sq, scale));
  return (variance + gradient_sq) / (variance / scale + gradient_sq);
}

double adascale_gain_of_noise(double noise_scale, double base_batch,
                              double batch) {
  const double scale = scale_of(base_batch, batch);
  if (std::isinf(noise_scale)) return scale;
  return scale * (noise_scale + base_batch) / (noise_scale + batch);
}

Legw legw(double base_lr, double base_warmup_epochs, double base_batch,
          double batch) {
  return {square_root_lr(base_lr, base_batch, batch),
          base_warmup_epochs * scale_of(base_batch, batch)};
}

double warmup_lr(const Warmup& warmup, double at) {
  if (!(warmup.warmup > 0) || at >= warmup.warmup) return warmup.to_lr;
  const double share = std::max(at, 0.0) / warmup.warmup;
  return warmup.from_lr + (warmup.to_lr - warmup.from_lr) * share;
}

double momentum_correction(double old_lr, double new_lr) {
  if (!(old_lr > 0))
    throw Error(Fault::config, "optim.lr",
                fmt::format("{} cannot be corrected from", old_lr));
  return new_lr / old_lr;
}

}  // namespace lockstep
