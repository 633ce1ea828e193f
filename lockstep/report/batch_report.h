// SPDX-License-Identifier: Apache-2.0
// Everything `lockstep batch` says about a set of runs, ready to be printed:
// tables for stdout, context for stderr.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/batch/compare.h"
#include "lockstep/core/table.h"
#include "lockstep/hardware/cluster.h"

namespace lockstep {

// The best batch on more devices than one, predicted.
struct DevicesAsked {
  std::filesystem::path study;
  Cluster cluster;
  std::vector<int> devices;
};

struct BatchReport {
  Table batches, choices, curve, sensitivity;
  Table own = {};      // runs that chose their batch; no rows: none did
  Table devices = {};  // no rows: not asked for
  std::vector<std::string>
      context;  // where numbers come from, what was left out
  std::vector<std::string> answer = {};  // a sentence an arm and devices
};

BatchReport make_batch_report(const BatchRuns& runs,
                              const CompareOptions& options,
                              const std::optional<DevicesAsked>& more = {});

// Text and JSON hold them all; JSON's `rows` are the batches. CSV is one table:
// batches, choices, curve, sensitivity, own or devices, else
// Error{Fault::config}.
std::string to_string(const BatchReport& report, Format format,
                      const std::string& csv_table);

}  // namespace lockstep
