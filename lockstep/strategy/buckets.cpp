// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/buckets.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "lockstep/core/error.h"
#include "lockstep/kernels/direct_grad.h"

namespace lockstep {

Buckets::Buckets(FlatParams& params, const std::vector<Message>& planned,
                 Full full)
    : params_(params),
      full_(std::move(full)),
      bucket_of_(params.params().size()),
      arrived_(params.params().size(), false) {
  for (const Message& message : planned) {
    const std::vector<std::size_t>& bucket = message.params;
    // From a later parameter to an earlier one, without gaps.
    const Slice& first = params.slices().at(bucket.back());
    const Slice& last = params.slices().at(bucket.front());
    for (const std::size_t i : bucket) bucket_of_.at(i) = ranges_.size();
    ranges_.push_back({.begin = first.begin,
                       .numel = last.begin + last.numel - first.begin,
                       .num_params = bucket.size()});
  }
  for (std::size_t i = 0; i < bucket_of_.size(); ++i) watch(i);
}

Buckets::~Buckets() {
  for (const auto& [node, key] : watched_) node->del_post_hook(key);
}

// A hook on the accumulating node, not on the gradient: it also runs when a
// kernel wrote the gradient itself and handed autograd nothing.
void Buckets::watch(std::size_t param) {
  using torch::autograd::variable_list;
  const auto node =
      torch::autograd::impl::grad_accumulator(params_.params()[param]);
  check(node != nullptr, "a parameter to train accumulates gradients");
  const std::uintptr_t key = node->add_post_hook(
      std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [this, param](const variable_list& outputs, const variable_list&) {
            arrived(param);
            return outputs;
          }));
  watched_.emplace_back(node, key);
}

at::Tensor Buckets::grads(std::size_t bucket) const {
  return params_.grads().narrow(0, ranges_[bucket].begin,
                                ranges_[bucket].numel);
}

at::Tensor Buckets::values(std::size_t bucket) const {
  return params_.values().narrow(0, ranges_[bucket].begin,
                                 ranges_[bucket].numel);
}

void Buckets::arm() {
  // A backward that was given up on left some behind.
  next_ = 0;
  for (Range& range : ranges_) range.missing = range.num_params;
  arrived_.assign(arrived_.size(), false);
  armed_ = true;
}

void Buckets::arrived(std::size_t param) {
  if (!armed_ || arrived_[param]) return;
  arrived_[param] = true;
  settle(params_.params()[param]);
  --ranges_[bucket_of_[param]].missing;
  while (next_ < ranges_.size() && ranges_[next_].missing == 0) full_(next_++);
}

void Buckets::finish() {
  params_.settle_grads();
  armed_ = false;
  while (next_ < ranges_.size()) full_(next_++);
  next_ = 0;
}

}  // namespace lockstep
