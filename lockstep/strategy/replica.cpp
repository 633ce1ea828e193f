// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/replica.h"

#include <ATen/ATen.h>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/buckets.h"
#include "lockstep/strategy/grad_hook.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/sync_batchnorm.h"

namespace lockstep {
namespace {

StrategyConfig as_ddp(StrategyConfig config) {
  config.kind = StrategyKind::ddp;
  return config;
}

}  // namespace

struct Replica::Parts {
  Parts(torch::nn::Module& module, Group& g, const StrategyConfig& c)
      : config(as_ddp(c)),
        group(g),
        params(module),
        buffers(module),
        list(param_list(params, module)),
        plan(lockstep::plan(config, list, {.ranks = g.size()})),
        recorder(g.rank(), {}, {.record = false}),
        messages(g, recorder),
        hook(make_grad_hook({.config = config,
                             .plan = plan,
                             .params = params,
                             .group = g,
                             .messages = messages,
                             .seed = 1})),
        buckets(params, buckets_in(plan),
                [this](std::size_t bucket) { hook.start(bucket); }) {}

  void broadcast(const at::Tensor& values) {
    const at::NoGradGuard no_grad;
    group.run({.op = Collective::broadcast, .tensor = values});
  }

  // Gradients that were thrown away would be summed by nobody.
  void check_grads() const {
    for (std::size_t i = 0; i < params.params().size(); ++i) {
      const at::Tensor& grad = params.params()[i].grad();
      if (!grad.defined() || !grad.is_alias_of(params.grads()))
        throw Error(Fault::internal, params.slices()[i].name,
                    "its gradient is no longer part of a bucket",
                    "call zero_grads() of the replica, not zero_grad() of the "
                    "optimiser or the module");
    }
  }

  StrategyConfig config;
  Group& group;
  FlatParams params;
  FlatBuffers buffers;
  ParamList list;
  CommPlan plan;
  Recorder recorder;
  Messages messages;
  GradHook hook;
  Buckets buckets;
};

Replica::Replica(torch::nn::Module& module, Group& group,
                 const StrategyConfig& config)
    : parts_(std::make_unique<Parts>(module, group, config)) {
  if (config.sync_batchnorm)
    synchronise_batchnorm(module, group, parts_->recorder);
  parts_->broadcast(parts_->params.values());
  if (!parts_->buffers.empty()) parts_->broadcast(parts_->buffers.values());
}

Replica::~Replica() = default;

void Replica::backward(const at::Tensor& loss) {
  backward(loss, 1.0 / parts_->group.size());
}

void Replica::backward(const at::Tensor& loss, double share) {
  parts_->check_grads();
  parts_->buckets.arm();
  (loss * share).backward();
  parts_->buckets.finish();
  parts_->hook.finish();
  // Rank 0's running statistics count, for the next forward.
  if (!parts_->buffers.empty()) parts_->broadcast(parts_->buffers.values());
}

void Replica::accumulate(const at::Tensor& loss, double share) {
  parts_->check_grads();
  (loss * share).backward();
}

void Replica::zero_grads() { parts_->params.zero_grads(); }

const CommPlan& Replica::plan() const { return parts_->plan; }

}  // namespace lockstep
