// SPDX-License-Identifier: Apache-2.0
// A profile without a device: each layer takes what its FLOPs, its bytes or
// its launches need, whichever is longest, at the efficiencies that training
// reaches. An estimate; a measured profile replaces it.
#pragma once

#include "lockstep/config/optim.h"
#include "lockstep/hardware/device_spec.h"
#include "lockstep/plan/profile.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/predict/software.h"

namespace lockstep {

// Share of a device's peak that training layers reach. Fitted on 30 measured
// steps of seven models on one H200; docs/numbers.md has them all.
struct Efficiency {
  double fp32 = 1, tf32 = 1, half = 1;
};
constexpr Efficiency kMatmulEfficiency = {0.70, 0.40, 0.50};
constexpr Efficiency kConvEfficiency = {0.45, 0.25, 0.40};
// Few channels fill no tensor core: the audio model's one-dimensional ones.
constexpr Efficiency kConv1dEfficiency = {0.28, 0.09, 0.06};
constexpr double kMemoryEfficiency = 0.55;
// Convolutions of so few FLOPs an output (depthwise) move memory badly.
constexpr double kThinConvFlops = 64;
constexpr double kThinConvEfficiency = 0.15;
// One standard deviation of ln(step time): 0.2 on those steps, more on devices
// nothing was fitted on.
constexpr double kRooflineSpread = 0.35;

// What a CUDA context and the libraries take of a device's memory.
constexpr double kContextBytes = 0.6e9;

struct Setting {
  Precision precision = Precision::fp32;
  OptimConfig optim = {};
  Software software = {};
};

Profile estimate_profile(const WorkPlan& work, const DeviceSpec& device,
                         const Setting& setting);

}  // namespace lockstep
