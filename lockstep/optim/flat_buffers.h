// SPDX-License-Identifier: Apache-2.0
// A module's running statistics as one flat tensor. Each buffer is a view of
// it, so they travel as one message without a copy. Counters (int64) stay as
// they are: they are the same on every rank.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/model/module.h"

namespace lockstep {

class FlatBuffers {
 public:
  explicit FlatBuffers(torch::nn::Module& module);

  bool empty() const { return !values_.defined(); }
  const at::Tensor& values() const { return values_; }  // [numel], fp32

 private:
  at::Tensor values_;
};

}  // namespace lockstep
