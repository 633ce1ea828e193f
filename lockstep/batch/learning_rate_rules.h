// SPDX-License-Identifier: Apache-2.0
// How the learning rate follows the batch size. Pure functions: the schedule
// over time is optim's.
#pragma once

namespace lockstep {

// Tuned at `base_batch`, wanted at `batch`.
double linear_lr(double base_lr, double base_batch, double batch);
double square_root_lr(double base_lr, double base_batch, double batch);

// AdaScale's gain, between 1 and the scale S = batch / base batch:
// (variance + |G|^2) / (variance / S + |G|^2). `variance` is tr(Sigma) / base
// batch. The rate is gain x base rate; a step counts as `gain` base steps.
double adascale_gain(double variance, double gradient_sq, double scale);
// The same from the noise scale: S (phi + M0) / (phi + S M0).
double adascale_gain_of_noise(double noise_scale, double base_batch,
                              double batch);

// LEGW (You et al.): the rate grows with the root of the scale, the warm-up's
// epochs with the scale itself.
struct Legw {
  double lr = 0;
  double warmup_epochs = 0;
};
Legw legw(double base_lr, double base_warmup_epochs, double base_batch,
          double batch);

// Gradual warm-up (Goyal et al.): from the rate of one worker to the scaled
// one, evenly over `warmup` (in steps or epochs, as `at`), then constant.
struct Warmup {
  double from_lr = 0, to_lr = 0;
  double warmup = 0;
};
double warmup_lr(const Warmup& warmup, double at);

// What a momentum buffer that holds the rate inside must be multiplied by when
// the rate changes (Goyal et al., remark 2).
double momentum_correction(double old_lr, double new_lr);

}  // namespace lockstep
