// SPDX-License-Identifier: Apache-2.0
// A run as TensorBoard reads it: an event file, that is, length-prefixed
// records with checksums (TFRecord), each one protocol-buffer message. Few
// fields are needed, so they are written here by hand.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/report/run_report.h"

namespace lockstep {

struct Scalar {
  std::string tag;
  std::int64_t step = 0;
  double unix_s = 0;
  float value = 0;
};

// Length, masked checksum of it, the bytes, their masked checksum.
std::string tf_record(std::string_view bytes);
// One Event message with one scalar in it; the first of a file names its
// version.
std::string version_event(double unix_s);
std::string scalar_event(const Scalar& scalar);

// Losses, accuracies and rates by epoch (epoch/...), the pieces of each step of
// rank 0 (step/...). What was not measured is left out.
std::vector<Scalar> scalars_of(const RunView& run);

// Writes events.out.tfevents.SECONDS.HOST into `folder`, which is made; gives
// its path back. Error{Fault::store}.
std::filesystem::path write_tensorboard(const RunView& run,
                                        const std::filesystem::path& folder);

}  // namespace lockstep
