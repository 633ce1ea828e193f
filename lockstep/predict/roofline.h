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

struct Efficiency {
  double fp32 = 1, tf32 = 1, half = 1;
};

// Share of a device's peak that training layers reach; docs/numbers.md has the
// steps they were fitted on.
struct Kernels {
  Efficiency matmul, conv, conv1d;
  double memory = 1, update = 1;  // of the memory's bandwidth
  Efficiency thin_conv;           // likewise: convolutions of few FLOPs
};
// The library's: 30 steps of PyTorch on one H200. The audio model's few
// channels fill no tensor core of cuDNN's one-dimensional convolutions.
constexpr Kernels kLibraryKernels = {.matmul = {0.70, 0.40, 0.50},
                                     .conv = {0.45, 0.25, 0.40},
                                     .conv1d = {0.28, 0.09, 0.06},
                                     .memory = 0.55,
                                     .update = 0.55,
                                     .thin_conv = {0.15, 0.15, 0.15}};
// Lockstep's, which read bf16 operands: the 18 steps of results/h200; `update`
// is its linear model's, 340 MB at 4.0 of 4.8 TB/s.
constexpr Kernels kOwnKernels = {.matmul = {0.70, 0.40, 0.54},
                                 .conv = {0.45, 0.25, 0.44},
                                 .conv1d = {0.28, 0.09, 0.28},
                                 .memory = 0.80,
                                 .update = 0.83,
                                 .thin_conv = {0.15, 0.15, 0.27}};
// Convolutions of so few FLOPs an output (depthwise) move memory badly.
constexpr double kThinConvFlops = 64;
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
