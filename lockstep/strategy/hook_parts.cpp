// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/hook_parts.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

HookBucket bucket_of(const FlatParams& params, const Message& message) {
  // Parameters of a bucket follow each other, one way or the other.
  const auto [low, high] =
      std::minmax(message.params.front(), message.params.back());
  const Slice& first = params.slices()[low];
  const Slice& last = params.slices()[high];
  const std::int64_t numel = last.begin + last.numel - first.begin;
  return {.grads = params.grads().narrow(0, first.begin, numel),
          .begin = first.begin,
          .params = message.params,
          .messages = {}};
}

}  // namespace

std::vector<HookBucket> hook_buckets(const HookContext& context) {
  std::vector<HookBucket> out;
  for (const Message& first : buckets_in(context.plan, context.payload)) {
    out.push_back(bucket_of(context.params, first));
    // Every pass that sends sends the same.
    for (Message& message : with_payload(context.plan, context.payload))
      if (message.params == first.params && message.pass == first.pass)
        out.back().messages.push_back(std::move(message));
  }
  return out;
}

at::Tensor summed(const HookBucket& bucket, const Group& group,
                  const at::Tensor& whole) {
  if (bucket.messages.front().op != Collective::reduce_scatter) return whole;
  const std::int64_t n = whole.numel(), rank = group.rank();
  return whole.narrow(0, share_begin(n, group.size(), rank),
                      share_of(n, group.size(), rank));
}

Call sum_of(const HookBucket& bucket, const Group& group,
            const at::Tensor& whole) {
  const Collective op = bucket.messages.front().op;
  Call call{.op = op, .tensor = summed(bucket, group, whole)};
  if (op == Collective::reduce_scatter) call.input = whole;
  return call;
}

const at::Tensor& find_tensor(const StrategyState& state,
                              const std::string& name) {
  for (const auto& [key, tensor] : state.tensors)
    if (key == name) return tensor;
  throw Error(Fault::store, "checkpoint", "has no '" + name + "'",
              "it was written without this gradient hook");
}

void put_under(const std::string& prefix, const StrategyState& part,
               StrategyState& state) {
  for (const auto& [name, tensor] : part.tensors)
    state.tensors.emplace_back(prefix + name, tensor);
}

StrategyState part_under(const std::string& prefix,
                         const StrategyState& state) {
  StrategyState out;
  for (const auto& [name, tensor] : state.tensors)
    if (name.starts_with(prefix))
      out.tensors.emplace_back(name.substr(prefix.size()), tensor);
  return out;
}

ErrorFeedback::ErrorFeedback(const HookContext& context)
    : group_(context.group), values_(at::zeros_like(context.params.grads())) {}

at::Tensor ErrorFeedback::of(const HookBucket& bucket) const {
  return values_.narrow(0, bucket.begin, bucket.grads.numel());
}

void ErrorFeedback::save(StrategyState& state) const {
  const bool root = group_.rank() == 0;
  // Zeros: ranks that are only emulated keep nothing back.
  const at::Tensor all =
      root ? at::zeros({group_.size(), values_.numel()}, values_.options())
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

at::Tensor ErrorFeedback::take() {
  const at::Tensor out = values_.clone();
  values_.zero_();
  return out;
}

void ErrorLeft::add(const at::Tensor& left, const at::Tensor& whole) {
  const at::Tensor left_sq = at::dot(left, left);
  const at::Tensor whole_sq = at::dot(whole, whole);
  left_ = left_.defined() ? left_ + left_sq : left_sq;
  whole_ = whole_.defined() ? whole_ + whole_sq : whole_sq;
}

void ErrorLeft::end_send() {
  if (left_.defined()) {
    // No gradient at all leaves nothing out.
    last_ = (left_ / whole_.clamp_min(1e-38)).sqrt();
    sum_ = sum_.defined() ? sum_ + last_ : last_;
    ++num_measured_;
  }
  left_ = whole_ = at::Tensor();
  ++sends_;
}

Json ErrorLeft::account() const {
  if (num_measured_ == 0) return Json::object();
  return Json{{"error_left_mean",
               sum_.item<double>() / static_cast<double>(num_measured_)},
              {"error_left_last", last_.item<double>()},
              {"error_measured_every_sends", kEvery}};
}

}  // namespace lockstep
