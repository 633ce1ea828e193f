// SPDX-License-Identifier: Apache-2.0
// A question turned into the events of one step: the CommPlan the trainer
// would carry out, each message priced, and the work between them.
#pragma once

#include "lockstep/predict/question.h"
#include "lockstep/predict/timeline.h"

namespace lockstep {

StepPlan plan_step(const Workload& work, const Cluster& cluster,
                   const Fabric& fabric, const Question& question);

// Layers split over `ranks` devices in one piece each, as evenly as they can
// be, with `accumulate` micro-batches in flight: a pipeline's step.
StepPlan plan_pipeline(const Workload& work, const Cluster& cluster,
                       const Fabric& fabric, const Question& question);

}  // namespace lockstep
