// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/sync_batchnorm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/kernels/half.h"
#include "lockstep/model/batch_norm.h"
#include "lockstep/plan/hook_plan.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sends for all layers of one rank. Waits for its own messages alone: buckets
// of gradients may be under way beside them.
struct Exchange {
  Group& group;
  Recorder& recorder;
  Messages messages;
  NormSpans spans;

  Exchange(Group& g, Recorder& r, NormSpans s)
      : group(g), recorder(r), messages(g, r), spans(s) {}

  void run(const Message& planned, const Call& call, Span doing) {
    recorder.cut(doing);
    messages.start(planned, 0, call);
    messages.wait();
    recorder.cut(Span::exposed_comm);
  }
};

struct Statistics {
  at::Tensor mean, var;  // [channels], of all ranks' samples
  at::Tensor count;      // scalar: samples x height x width, of all ranks
};

// [2 channels + 1]: mean, sum of squared deviations, count of this rank.
at::Tensor own_moments(const at::Tensor& x) {
  const std::int64_t channels = x.size(1);
  const std::int64_t count = channels == 0 ? 0 : x.numel() / channels;
  const at::Tensor out =
      at::zeros({2 * channels + 1}, x.options().dtype(at::kFloat));
  if (count == 0) return out;
  const auto [var, mean] =
      at::var_mean(x.to(at::kFloat), at::IntArrayRef{0, 2, 3},
                   /*correction=*/at::Scalar(0));
  out.narrow(0, 0, channels).copy_(mean);
  out.narrow(0, channels, channels).copy_(var * static_cast<double>(count));
  out.select(0, 2 * channels).fill_(count);
  return out;
}

// Chan, Golub, LeVeque 1979: moments of parts give those of the whole without
// the cancellation of a sum of squares.
Statistics whole_moments(const at::Tensor& parts) {  // [ranks, 2 channels + 1]
  const std::int64_t channels = (parts.size(1) - 1) / 2;
  const at::Tensor mean = parts.narrow(1, 0, channels);
  const at::Tensor square = parts.narrow(1, channels, channels);
  const at::Tensor count = parts.narrow(1, 2 * channels, 1);  // [ranks, 1]
  const at::Tensor total = count.sum();
  Statistics out;
  out.count = total;
  out.mean = (mean * count).sum(0) / total;
  out.var = (square + count * (mean - out.mean).square()).sum(0) / total;
  return out;
}

class SyncNorm final : public torch::autograd::Function<SyncNorm> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const std::optional<at::Tensor>& scale,
                            const std::optional<at::Tensor>& bias,
                            const Statistics& s, double eps,
                            const std::shared_ptr<Exchange>& exchange) {
    const at::Tensor weight = scale.value_or(at::Tensor());
    ctx->save_for_backward({x, weight, s.mean, s.var, s.count});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["exchange"] =
        c10::IValue::make_capsule(c10::make_intrusive<Holder>(exchange));
    return std::get<0>(at::native_batch_norm(x, weight, bias, s.mean, s.var,
                                             /*training=*/false, 0, eps));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2];
    const at::Tensor invstd =
        (saved[3] + ctx->saved_data["eps"].toDouble()).rsqrt();
    const at::Tensor dy = grads[0].to(at::kFloat);
    const at::Tensor normed = (x.to(at::kFloat) - row(mean)) * row(invstd);
    const std::int64_t channels = mean.numel();
    // This rank's sums are its share of the gradients of weight and bias; all
    // ranks' sums together are what reaches x through mean and variance.
    const at::Tensor own = at::cat({sum(dy * normed), sum(dy)});
    const at::Tensor all = own.clone();
    Exchange& exchange = exchange_of(ctx);
    exchange.run(norm_backward(channels),
                 {.op = Collective::all_reduce, .tensor = all},
                 exchange.spans.backward);
    const at::Tensor to_scale = all.narrow(0, 0, channels) / saved[4];
    const at::Tensor to_shift = all.narrow(0, channels, channels) / saved[4];
    at::Tensor dx = (dy - row(to_shift) - normed * row(to_scale)) *
                    row(weight.defined() ? weight * invstd : invstd);
    return {dx.to(x.scalar_type()),
            weight.defined() ? own.narrow(0, 0, channels) : at::Tensor(),
            weight.defined() ? own.narrow(0, channels, channels) : at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }

 private:
  struct Holder final : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<Exchange> e) : exchange(std::move(e)) {}
    std::shared_ptr<Exchange> exchange;
  };
  static Exchange& exchange_of(AutogradContext* ctx) {
    const auto capsule = ctx->saved_data["exchange"].toCapsule();
    return *static_cast<Holder*>(capsule.get())->exchange;
  }
  static at::Tensor row(const at::Tensor& t) { return t.view({1, -1, 1, 1}); }
  static at::Tensor sum(const at::Tensor& t) { return t.sum({0, 2, 3}); }
};

// As torch does in training mode, with the variance of all samples.
void move_running(BatchNorm2dImpl& layer, const Statistics& s) {
  if (!layer.running_mean.defined()) return;
  const at::NoGradGuard no_grad;
  layer.num_batches_tracked += 1;
  const std::optional<double> momentum = layer.options.momentum();
  const double factor =
      momentum ? *momentum : 1.0 / layer.num_batches_tracked.item<double>();
  const at::Tensor unbiased = s.var * (s.count / (s.count - 1));
  layer.running_mean.lerp_(s.mean, factor);
  layer.running_var.lerp_(unbiased, factor);
}

at::Tensor train_norm(BatchNorm2dImpl& layer, const at::Tensor& x,
                      const std::shared_ptr<Exchange>& exchange) {
  const std::int64_t ranks = exchange->group.size(), channels = x.size(1);
  Statistics s;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor own = own_moments(x);
    // Zeros: ranks that are only emulated bring no samples.
    const at::Tensor all = at::zeros({ranks, 2 * channels + 1}, own.options());
    exchange->run(
        norm_forward(channels, ranks),
        {.op = Collective::all_gather, .tensor = all.view({-1}), .input = own},
        Span::forward);
    s = whole_moments(all);
    move_running(layer, s);
  }
  return SyncNorm::apply(x, maybe(layer.weight), maybe(layer.bias), s,
                         layer.options.eps(), exchange);
}

}  // namespace

void synchronise_batchnorm(torch::nn::Module& module, Group& group,
                           Recorder& recorder, NormSpans spans) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error(Fault::config, "strategy.sync_batchnorm", what, hint);
  };
  if (group.backend() == "threads" && group.size() > 1 &&
      !module.parameters().front().is_cpu())
    refuse(
        "ranks that share a GPU share one backward thread, which would wait "
        "for itself",
        "give each rank a process and a GPU, or train on the CPU");
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    const torch::nn::Module& part = *item.value();
    if (part.as<torch::nn::BatchNorm1dImpl>() ||
        part.as<torch::nn::BatchNorm3dImpl>() ||
        (part.as<torch::nn::BatchNorm2dImpl>() && !part.as<BatchNorm2dImpl>()))
      refuse("'" + item.key() + "' is torch's BatchNorm",
             "use lockstep::BatchNorm2d (lockstep/model/batch_norm.h)");
  }
  const std::vector<BatchNorm2dImpl*> norms = batch_norms(module);
  if (norms.empty()) refuse("the model has no BatchNorm", "leave it at false");
  const auto exchange = std::make_shared<Exchange>(group, recorder, spans);
  for (BatchNorm2dImpl* norm : norms)
    norm->train_with([exchange](BatchNorm2dImpl& layer, const at::Tensor& x) {
      return train_norm(layer, x, exchange);
    });
}

}  // namespace lockstep
