// SPDX-License-Identifier: Apache-2.0
// A model's WorkPlan for people and for programs: the table PyTorch users know
// from torchsummary, what training needs, and the overview of all models.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lockstep/core/table.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {

// What memory is counted for.
struct TrainingSetup {
  OptimConfig optim;
  std::string optim_name;
  Precision precision = Precision::fp32;
  std::string precision_name;
  std::int64_t batch = 1;
};

// Rows, shapes, counts and sizes exactly as torchsummary 1.5 prints them. Its
// MB is 2^20 bytes, and the last line says so.
std::string torchsummary_text(const WorkPlan& plan);

// FLOPs, parameter bytes per FLOP and memory, part by part.
std::string training_text(const WorkPlan& plan, const TrainingSetup& setup);

// A row per layer.
Table layer_table(const WorkPlan& plan, Precision precision);

struct NamedPlan {
  std::string settings;  // what makes it differ from the model's own sizes
  WorkPlan plan;
};
// A row per model.
Table model_table(std::span<const NamedPlan> plans, const TrainingSetup& setup);

}  // namespace lockstep
