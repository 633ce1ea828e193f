// SPDX-License-Identifier: Apache-2.0
// Buckets of gradients: ranges of the flat buffer, each reported the moment
// its last gradient is there, while backward goes on with the others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lockstep/optim/flat_params.h"
#include "lockstep/plan/comm_plan.h"

namespace torch::autograd {
struct Node;
}  // namespace torch::autograd

namespace lockstep {

class Buckets {
 public:
  // One for each planned message of gradients. `full` is called in their order,
  // on every rank the same, from within backward: it must not wait. `params`
  // must outlive the buckets.
  using Full = std::function<void(std::size_t bucket)>;
  Buckets(FlatParams& params, const std::vector<Message>& planned, Full full);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  std::size_t size() const { return ranges_.size(); }
  std::int64_t begin(std::size_t bucket) const { return ranges_[bucket].begin; }
  std::int64_t numel(std::size_t bucket) const { return ranges_[bucket].numel; }
  at::Tensor grads(std::size_t bucket) const;   // [numel]
  at::Tensor values(std::size_t bucket) const;  // [numel]

  // The next backward is the last of the step: its gradients count. Those of
  // passes before it only add up.
  void arm();
  // After backward: reports the buckets that are not full yet. A parameter
  // that no pass used has a zero gradient.
  void finish();

 private:
  struct Range {
    std::int64_t begin = 0, numel = 0;
    std::size_t num_params = 0, missing = 0;
  };
  void watch(std::size_t param);
  void arrived(std::size_t param);

  FlatParams& params_;
  Full full_;
  std::vector<Range> ranges_;
  std::vector<std::size_t> bucket_of_;
  std::vector<bool> arrived_;
  // The node that accumulates a parameter's gradient, kept alive so that its
  // hook stays, and the hook's key.
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>>
      watched_;
  bool armed_ = false;
  std::size_t next_ = 0;
};

}  // namespace lockstep
