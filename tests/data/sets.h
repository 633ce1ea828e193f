// SPDX-License-Identifier: Apache-2.0
// Reading samples of a set in tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {

inline DataConfig data_config(DataKind kind, const std::string& path,
                              SplitKind split = SplitKind::official) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  config.split = split;
  return config;
}

inline ModelConfig model_config(ModelKind kind) {
  ModelConfig config;
  config.kind = kind;
  return config;
}

struct Sample {
  std::vector<float> input;
  std::vector<std::int64_t> tokens, target;
};

inline Sample read_sample(const Dataset& set, std::int64_t index,
                          std::uint64_t seed = 0) {
  Sample sample;
  const auto size = static_cast<std::size_t>(numel(set.shape().input));
  sample.target.resize(static_cast<std::size_t>(numel(set.shape().target)));
  if (set.shape().tokens) {
    sample.tokens.resize(size);
    set.read(index, seed, sample.tokens.data(), sample.target.data());
  } else {
    sample.input.resize(size);
    set.read(index, seed, sample.input.data(), sample.target.data());
  }
  return sample;
}

}  // namespace lockstep
