// SPDX-License-Identifier: Apache-2.0
// What run.cpp names but does not show: opening each thing a run needs, and
// its record at the beginning and at the end.
#pragma once

#include <memory>
#include <optional>

#include "lockstep/data/resident.h"
#include "lockstep/run.h"
#include "lockstep/train/session.h"
#include "lockstep/train/trainer.h"

namespace lockstep {

// The device, with this rank's share of the cores and the precision set.
std::unique_ptr<Device> prepare_device(const RunConfig& config,
                                       const Group& group);

// Whether libraries may search for their fastest kernels in what follows: worth
// it for a size that comes again and again. Ranks that are threads share the
// switch; theirs stays on.
void search_kernels_for(const RunConfig& config, Device& device,
                        bool comes_again);

// The settings with what only the data knows filled in: number of classes.
// Error{Fault::config} when the model cannot hold the data's classes.
RunConfig complete(const RunConfig& config, const DataSplit& data);

// Weights from the seed or from a file, on the device, in training mode.
Model prepare_model(const RunConfig& config, Device& device);

// model.whiten: the stem from the training data, unless a file brought one.
void whiten_stem(const RunConfig& config, const DataSplit& data,
                 const Model& model, Device& device);

// Nothing unless data.resident.
ResidentSets hold_resident(const RunConfig& config, const DataSplit& data,
                           Device& device);

// Rank 0's folder, new or gone on with; nothing on other ranks.
std::optional<RunFolder> open_folder(const RunConfig& config,
                                     const RunOptions& options,
                                     const Group& group, Device& device);

// Collective. When the run began, `elapsed_s` ago on rank 0's clock, as this
// rank's now_s() counts.
double shared_origin(Group& group, double elapsed_s);

RunRecord begin_record(const RunConfig& config, const RunOptions& options,
                       const Group& group, const DataSplit& data,
                       const Strategy& strategy);

// Summary, probabilities when asked, record.json, and DONE last.
void finish_record(RunRecord& record, Ending ending, Session& session);

// The record of a run that ended with an error, as far as the disk takes it:
// the error itself is thrown on by the caller and matters more.
void record_failure(RunRecord& record, Session& session,
                    const std::exception& error) noexcept;

}  // namespace lockstep
