// SPDX-License-Identifier: Apache-2.0
// trace.json: the steps and messages of a run as Perfetto and chrome://tracing
// open them. A process is a rank; its threads are compute and communication.
#pragma once

#include <filesystem>
#include <span>

#include "lockstep/core/json.h"
#include "lockstep/core/sample.h"

namespace lockstep {

// Pieces of a step lie one after the other in the order they are done.
Json trace_of(std::span<const StepSample> steps,
              std::span<const CommSample> messages);

void write_trace(const std::filesystem::path& file,
                 std::span<const StepSample> steps,
                 std::span<const CommSample> messages);

}  // namespace lockstep
