// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/hook_parts.h"

#include <ATen/ATen.h>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

HookBucket bucket_of(const FlatParams& params, const Message& message) {
  // Parameters of a bucket follow each other, the last one first.
  const Slice& first = params.slices()[message.params.back()];
  const Slice& last = params.slices()[message.params.front()];
  const std::int64_t numel = last.begin + last.numel - first.begin;
  return {.grads = params.grads().narrow(0, first.begin, numel),
          .begin = first.begin,
          .params = message.params,
          .messages = {message}};
}

}  // namespace

std::vector<HookBucket> hook_buckets(const HookContext& context) {
  std::vector<HookBucket> out;
  for (const Message& message : buckets_in(context.plan))
    out.push_back(bucket_of(context.params, message));
  for (const Message& message : with_payload(context.plan, Payload::gradients))
    for (HookBucket& bucket : out)
      if (message.phase != Phase::backward && message.params == bucket.params)
        bucket.messages.push_back(message);
  return out;
}

const at::Tensor& find_tensor(const StrategyState& state,
                              const std::string& name) {
  for (const auto& [key, tensor] : state.tensors)
    if (key == name) return tensor;
  throw Error(Fault::store, "checkpoint", "has no '" + name + "'",
              "it was written without this gradient hook");
}

ErrorFeedback::ErrorFeedback(const HookContext& context)
    : group_(context.group), values_(at::zeros_like(context.params.grads())) {}

at::Tensor ErrorFeedback::of(const HookBucket& bucket) const {
  return values_.narrow(0, bucket.begin, bucket.grads.numel());
}

void ErrorFeedback::save(StrategyState& state) const {
  const bool root = group_.rank() == 0;
  const at::Tensor all =
      root ? at::empty({group_.size(), values_.numel()}, values_.options())
           : at::Tensor();
  group_.run({.op = Collective::gather,
              .tensor = root ? all.view({-1}) : at::Tensor(),
              .input = values_});
  if (root) state.tensors.emplace_back("error", all);
}

void ErrorFeedback::load(const StrategyState& state) {
  const at::Tensor& all = find_tensor(state, "error");
  if (all.size(0) == group_.size())
    values_.copy_(all[group_.rank()]);
  else
    values_.copy_(all.sum(0) / static_cast<double>(group_.size()));
}

void ErrorLeft::add(const at::Tensor& left, const at::Tensor& whole) {
  const at::Tensor left_sq = at::dot(left, left);
  const at::Tensor whole_sq = at::dot(whole, whole);
  left_ = left_.defined() ? left_ + left_sq : left_sq;
  whole_ = whole_.defined() ? whole_ + whole_sq : whole_sq;
}

void ErrorLeft::end_step() {
  if (left_.defined()) {
    // No gradient at all leaves nothing out.
    last_ = (left_ / whole_.clamp_min(1e-38)).sqrt();
    sum_ = sum_.defined() ? sum_ + last_ : last_;
    ++num_measured_;
  }
  left_ = whole_ = at::Tensor();
  ++step_;
}

Json ErrorLeft::account() const {
  if (num_measured_ == 0) return Json::object();
  return Json{{"error_left_mean",
               sum_.item<double>() / static_cast<double>(num_measured_)},
              {"error_left_last", last_.item<double>()},
              {"error_measured_every_steps", kEvery}};
}

}  // namespace lockstep
