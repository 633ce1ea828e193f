// SPDX-License-Identifier: Apache-2.0
// A measured profile against the floor of each layer: its FLOPs at the device's
// peak or its bytes at the memory's, whichever takes longer. No efficiency is
// assumed: roofline.h estimates what is reached, this is what cannot be beaten
// by a layer that finds nothing in a cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/hardware/device_spec.h"
#include "lockstep/plan/profile.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {

// Of one batch, forward and backward.
struct LayerFloor {
  std::string name, type;
  double timed_s = 0;                // measured, layer by layer
  double step_s = 0;                 // the same as a part of a whole step
  std::optional<double> flops = {};  // empty: unknown
  double bytes = 0;                  // 0: may move nothing, a view
  double floor_s = 0;
  bool by_compute = false;  // else memory decides
};

struct Floors {
  std::string model;
  std::string measured_on;  // device and software of the profile
  DeviceSpec device;
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;  // the largest of the profile
  double peak_flops = 0;
  // Layers, "loss" where the profile has its time, then "update".
  std::vector<LayerFloor> rows = {};
  double step_s = 0, floor_s = 0;
  double scale = 1;  // from timed_s to step_s of a layer

  bool knows_flops() const;
};

// FLOPs a byte of a step in which no row of the plan finds anything in a cache.
double planned_intensity(const WorkPlan& plan, double batch,
                         Precision precision);

// Whether the plan is that of the profile's model: the same parameters, input
// and layers.
bool describes(const WorkPlan& plan, const Profile& profile);

// Bytes and FLOPs by the plan where it describes the profile; without one
// bytes by the profile, each layer reading what the one before it wrote, and
// FLOPs unknown.
Floors floors_of(const Profile& profile, const std::optional<WorkPlan>& plan,
                 const DeviceSpec& device);

}  // namespace lockstep
