// SPDX-License-Identifier: Apache-2.0
// steps.csv, comm.csv and epochs.csv of a run folder: written and read from
// one list of columns each. An empty field is NaN: not measured.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/sample.h"

namespace lockstep {

// The head line, without its end. `with_dp` adds data_parallel's eight columns.
std::string steps_head(bool with_dp);
std::string comm_head();
std::string epochs_head();

// One line a sample, each ended.
std::string to_lines(std::span<const StepSample> steps, bool with_dp);
std::string to_lines(std::span<const CommSample> messages);
std::string to_lines(std::span<const EpochSample> epochs);

// Throw Error{Fault::store} that names the file and the line that is wrong.
std::vector<StepSample> read_steps(const std::filesystem::path& file);
std::vector<CommSample> read_comm(const std::filesystem::path& file);
std::vector<EpochSample> read_epochs(const std::filesystem::path& file);

}  // namespace lockstep
