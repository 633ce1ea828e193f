// SPDX-License-Identifier: Apache-2.0
// What one training step sends, as plain data. The strategy carries it out,
// the predictor prices it, the tests compare the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep {

enum class Collective {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  gather,
  scatter,
  barrier
};
enum class Payload {
  gradients,
  parameters,
  buffers,
  norm_statistics,
  inputs,
  outputs,
  control
};
enum class Phase { before_forward, backward, after_backward, after_update };
enum class WireType { fp32, fp16, bf16, int64 };

// The words that comm.csv and the record use.
std::string_view word(Collective op);
std::string_view word(Payload payload);

struct Message {
  Collective op = Collective::all_reduce;
  Payload payload = Payload::gradients;
  WireType type = WireType::fp32;
  std::int64_t bytes = 0;
  bool upper_bound = false;  // else `bytes` is exact
  int root = 0;
  Phase phase = Phase::backward;
  std::vector<std::size_t> params;  // positions in the model's parameter list
};

using CommPlan = std::vector<Message>;

}  // namespace lockstep
