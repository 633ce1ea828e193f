// SPDX-License-Identifier: Apache-2.0
// What a run measures, as plain rows: one struct for each CSV file of a run
// folder, fields in the order of its columns. The recorder fills them, the
// store writes and reads them, everything that analyses starts here.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace lockstep {

// One step of one rank. Times in seconds; begin_s counts from the first step
// of the run on rank 0's clock.
struct StepSample {
  std::int64_t step = 0, epoch = 0, rank = 0, samples = 0;
  double begin_s = 0, data_s = 0, copy_s = 0, forward_s = 0, backward_s = 0;
  double comm_s = 0;          // union of this step's messages
  double exposed_comm_s = 0;  // the part not hidden behind compute
  double optim_s = 0, wait_s = 0, step_s = 0, loss = std::nan("");
  // data_parallel alone: scatter, replicate, forward, gather, loss,
  // loss_scatter, backward, reduce. NaN elsewhere.
  std::array<double, 8> dp_s = {std::nan(""), std::nan(""), std::nan(""),
                                std::nan(""), std::nan(""), std::nan(""),
                                std::nan(""), std::nan("")};
};

// One message of one rank.
struct CommSample {
  std::int64_t step = 0, rank = 0, bucket = 0;
  std::string op, payload;
  std::int64_t bytes = 0;
  double issued_s = 0, begin_s = 0, end_s = 0, bus_bytes_per_s = 0;
};

// One epoch of the run, all ranks together. NaN: not measured.
struct EpochSample {
  std::int64_t epoch = 0;
  double train_loss = std::nan(""), train_accuracy = std::nan("");
  double val_loss = std::nan(""), val_accuracy = std::nan("");
  double information_nats = std::nan(""), lr = 0;
  std::int64_t global_batch = 0, peak_memory_bytes = 0;
  double device_busy = std::nan("");
  double seconds = 0, seconds_with_loading = 0;
};

}  // namespace lockstep
