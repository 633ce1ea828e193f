// SPDX-License-Identifier: Apache-2.0
// What one training step sends, as plain data, from the settings alone. The
// strategy carries it out, the predictor prices it, the tests compare the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lockstep/config/strategy.h"
#include "lockstep/plan/work_plan.h"

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
enum class Phase {
  before_forward,
  forward,
  after_forward,
  backward,
  after_backward,
  after_update
};
enum class WireType { fp32, fp16, bf16, int64 };

// The words that comm.csv and the record use.
std::string_view word(Collective op);
std::string_view word(Payload payload);
std::string_view word(Phase phase);
std::string_view word(WireType type);
std::int64_t bytes_of(WireType type);  // one element

// Bytes that cross the busiest link of a rank for each byte of the message,
// at the least: 2 (n-1)/n for an all-reduce. "Bus bandwidth" rests on it.
double bus_factor(Collective op, std::int64_t ranks);

struct Message {
  Collective op = Collective::all_reduce;
  Payload payload = Payload::gradients;
  WireType type = WireType::fp32;
  // The whole vector: what every rank holds (all_reduce, reduce, broadcast),
  // or all ranks' shares together (scatter, gather, all_gather,
  // reduce_scatter), the root's own included.
  std::int64_t bytes = 0;
  bool upper_bound = false;  // else `bytes` is exact
  int root = 0;
  Phase phase = Phase::backward;
  std::int64_t pass = 0;  // which of the accumulated passes
  Route route = Route::ring;
  std::vector<std::size_t> params = {};  // positions in the parameter list
};

using CommPlan = std::vector<Message>;

// What of a model can travel.
struct ParamList {
  std::vector<std::int64_t> numel = {};  // in the module's order; fp32
  // First dimension of each, 1 for vectors: a parameter as a matrix. Empty
  // where shapes are not known; a hook that needs them then refuses.
  std::vector<std::int64_t> rows = {};
  // Running statistics, fp32. Counters of passes stay where they are: they are
  // the same on every rank.
  std::int64_t buffer_bytes = 0;
  std::vector<std::int64_t> norm_channels = {};  // BatchNorms, in forward order

  std::int64_t bytes() const;
};
ParamList param_list(const WorkPlan& work);

// One step: global batch, passes, position in the run. Sizes of one sample
// matter to data_parallel alone.
struct StepShape {
  std::int64_t ranks = 1;
  std::int64_t samples = 0;  // of all ranks and passes
  std::int64_t accumulate = 1;
  std::int64_t step = 0;  // 0 is the first of the run
  bool last = false;      // local_sgd averages after it in any case
  std::int64_t input_bytes = 0, output_bytes = 0;
};

// `total` split into `parts`: part `index` gets this many. They differ by at
// most one, the first ones are the larger, none is lost.
std::int64_t share_of(std::int64_t total, std::int64_t parts,
                      std::int64_t index);
// Where that part begins, when they lie one after the other.
std::int64_t share_begin(std::int64_t total, std::int64_t parts,
                         std::int64_t index);

// Buckets of parameters from the last to the first, the order in which
// backward fills gradients. A bucket closes when it reaches its limit.
std::vector<std::vector<std::size_t>> buckets_of(const StrategyConfig& config,
                                                 const ParamList& params);

// The messages of one step in the order in which they start; statistics that
// travel in backward mix with the gradients there. One rank plans the same
// messages as many; they then move nothing.
CommPlan plan(const StrategyConfig& config, const ParamList& params,
              const StepShape& shape);

std::int64_t bytes_of(const CommPlan& plan);

}  // namespace lockstep
