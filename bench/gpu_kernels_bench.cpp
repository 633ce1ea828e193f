// SPDX-License-Identifier: Apache-2.0
// Each kernel of ours on a GPU against its floor, and against LibTorch's own
// operations on the same tensors, kernels searched for as in training. Sizes
// are those of our models; what is smaller than the GPU's cache (50 MB of an
// H200) may be faster than memory's floor. Prints a table; no arguments.
#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "bench/gpu_floor.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/image_place.h"
#include "lockstep/kernels/padded.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

at::TensorOptions half() {
  return at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
}
at::TensorOptions full() { return half().dtype(at::kFloat); }

at::Tensor images(at::IntArrayRef sizes) {
  return at::randn(sizes, half()).contiguous(at::MemoryFormat::ChannelsLast);
}

double bytes_of(std::initializer_list<at::Tensor> tensors) {
  double sum = 0;
  for (const at::Tensor& t : tensors) sum += static_cast<double>(t.nbytes());
  return sum;
}

struct NormCase {
  at::Tensor x, grad, residual{};
  NormLayer layer{};
};

NormCase norm_case(bool residual) {
  NormCase c{images({512, 64, 32, 32}), images({512, 64, 32, 32})};
  if (residual) c.residual = images(c.x.sizes());
  const at::Tensor one = at::ones({64}, full());
  c.layer = {.weight = one,
             .bias = at::zeros_like(one),
             .running_mean = at::zeros_like(one),
             .running_var = one.clone(),
             .batches = at::zeros({}, full().dtype(at::kLong))};
  return c;
}

// What LibTorch would choose: its own kernels or cuDNN's.
auto plain_norm(const NormCase& c) {
  auto all = at::_batch_norm_impl_index(
      c.x, c.layer.weight, c.layer.bias, c.layer.running_mean,
      c.layer.running_var, true, 0.1, 1e-5, true);
  if (c.residual.defined()) std::get<0>(all).add_(c.residual);
  std::get<0>(all).relu_();
  return all;
}

// BatchNorm and ReLU of ResNet-18's first stage, with and without a residual.
// Its gradient costs the output read, which tells the sign, and one written.
void norms(FloorTable& table, bool residual) {
  const GpuTable& gpu = gpu_table();
  const NormCase c = norm_case(residual);
  const std::string name = residual ? "norm+residual+relu" : "norm+relu";
  const double image = bytes_of({c.x}), more = residual ? image : 0;
  const auto ours = [&] {
    return gpu.norm_forward(c.layer, c.x, Activation::relu, c.residual);
  };
  table.row(
      name + " 512x64x32x32", {.bytes = 2 * image + more}, [&] { ours(); },
      [&] { plain_norm(c); });
  NormForward kept = ours();
  if (!residual) kept.output = at::Tensor();
  const auto theirs = plain_norm(c);
  const at::Tensor to_weight = at::empty_like(c.layer.weight);
  const at::Tensor to_bias = at::empty_like(c.layer.bias);
  table.row(
      name + " backward", {.bytes = 3 * image + 2 * more},
      [&] {
        gpu.norm_backward(kept, c.x, c.grad, Activation::relu, residual,
                          to_weight, to_bias);
      },
      [&] {
        const auto& [y, mean, inverse, room, kind] = theirs;
        at::_batch_norm_impl_index_backward(
            kind, c.x, at::threshold_backward(c.grad, y, 0), c.layer.weight,
            c.layer.running_mean, c.layer.running_var, mean, inverse, true,
            1e-5, {true, true, true}, room);
      });
}

// MobileNetV2's depthwise convolutions at 128 images.
void depthwise(FloorTable& table, std::int64_t channels, std::int64_t side,
               std::int64_t stride) {
  const GpuTable& gpu = gpu_table();
  const at::Tensor x = images({128, channels, side, side});
  const at::Tensor weight = at::randn({channels, 1, 3, 3}, full());
  const at::Tensor weight16 = weight.to(at::kBFloat16);
  const at::Tensor y = gpu.depthwise_forward(x, weight, stride);
  const at::Tensor grad = images(y.sizes()), to = at::empty_like(weight);
  const std::string name = "depthwise 128x" + std::to_string(channels) + "x" +
                           std::to_string(side) + " /" + std::to_string(stride);
  table.row(
      name, {.bytes = bytes_of({x, y})},
      [&] { gpu.depthwise_forward(x, weight, stride); },
      [&] {
        at::convolution(x, weight16, {}, {stride, stride}, {1, 1}, {1, 1},
                        false, {0, 0}, channels);
      });
  table.row(
      name + " backward", {.bytes = bytes_of({x, y, x})},
      [&] { gpu.depthwise_backward(x, weight, grad, stride, true, to); },
      [&] {
        at::convolution_backward(grad, x, weight16, {}, {stride, stride},
                                 {1, 1}, {1, 1}, false, {0, 0}, channels,
                                 {true, true, false});
      });
}

// Behind ResNet-50's stem at 128 images.
void max_pools(FloorTable& table) {
  const GpuTable& gpu = gpu_table();
  const at::Tensor x = images({128, 64, 112, 112});
  const MaxPoolForward kept = gpu.max_pool_forward(x, kResNetPool);
  const auto [y, indices] = at::max_pool2d_with_indices(x, 3, 2, 1);
  table.row(
      "max_pool 3x3 128x64x112x112",
      {.bytes = bytes_of({x, kept.output, kept.where})},
      [&] { gpu.max_pool_forward(x, kResNetPool); },
      [&] { at::max_pool2d_with_indices(x, 3, 2, 1); });
  table.row(
      "max_pool 3x3 backward",
      {.bytes = bytes_of({x, kept.output, kept.where})},
      [&] { gpu.max_pool_backward(y, kept.where, kResNetPool, x.sizes()); },
      [&, &out = y, &where = indices] {
        at::max_pool2d_with_indices_backward(out, x, 3, 2, 1, 1, false, where);
      });
}

// conv1d's three stages at 100 clips: convolution, ReLU and pooling in one.
void convolutions(FloorTable& table) {
  const GpuTable& gpu = gpu_table();
  std::int64_t in = 1, length = kClipSamples;
  for (const Conv1dStage& stage : kConv1dStages) {
    const ConvShape shape{.batch = 100,
                          .in = in,
                          .length = length,
                          .out = stage.kernels,
                          .taps = stage.width,
                          .padding = stage.padding,
                          .pool = stage.pool};
    const at::Tensor x = at::randn({100, in, length}, half());
    const at::Tensor w =
        at::randn({stage.kernels, in, stage.width}, full()) / 16;
    const at::Tensor b = at::zeros({stage.kernels}, full());
    const at::Tensor w16 = w.to(at::kBFloat16), b16 = b.to(at::kBFloat16);
    const ConvForward kept = gpu.conv1d_forward(shape, x, w, b);
    const at::Tensor grad = at::randn_like(kept.output);
    const at::Tensor w_grad = at::empty_like(w), b_grad = at::empty_like(b);
    const bool input_too = in > 1;
    const double flops =
        2.0 * static_cast<double>(shape.batch * in * stage.kernels *
                                  stage.width * shape.positions());
    const std::string name = "conv1d+relu+pool 100x" + std::to_string(in) +
                             "x" + std::to_string(length) + ", " +
                             std::to_string(stage.width) + " taps";
    const auto convolved = [=, padding = stage.padding] {
      return at::convolution(x, w16, b16, {1}, {padding}, {1}, false, {0}, 1);
    };
    table.row(
        name, {.bytes = bytes_of({x, kept.output}), .flops = flops},
        [&] { gpu.conv1d_forward(shape, x, w, b); },
        [&] { at::max_pool1d(convolved().relu_(), stage.pool); });
    const at::Tensor wide = at::randn_like(convolved());
    table.row(
        "  backward (LibTorch's without ReLU and pooling)",
        {.bytes = bytes_of({x, grad}) + (input_too ? bytes_of({x}) : 0),
         .flops = flops * (input_too ? 2 : 1)},
        [&] {
          gpu.conv1d_backward(shape, kept, w, grad, input_too, w_grad, b_grad);
        },
        [&] {  // without pooling and ReLU
          at::convolution_backward(wide, x, w16, stage.kernels, {1},
                                   {stage.padding}, {1}, false, {0}, 1,
                                   {input_too, true, true});
        });
    in = stage.kernels, length = shape.windows();
  }
}

// Between the products of gpt, 124 M, at 32 x 1,024 tokens.
void layer_norms(FloorTable& table) {
  const GpuTable& gpu = gpu_table();
  constexpr std::int64_t rows = 32 * 1024, width = 768;
  const at::Tensor x = at::randn({rows, width}, full());
  const at::Tensor branch = at::randn({rows, width}, half());
  const at::Tensor one = at::ones({width}, full());
  const at::Tensor zero = at::zeros({width}, full());
  const AddNormInput in{.x = x,
                        .branch = branch,
                        .branch_bias = zero,
                        .weight = one,
                        .bias = zero};
  const double stream = bytes_of({x}), narrow = bytes_of({branch});
  table.row(
      "add+layer_norm 32768x768", {.bytes = 2 * stream + 2 * narrow},
      [&] { gpu.add_norm_forward(in); },
      [&] {
        const at::Tensor sum = x + (branch + zero);
        at::layer_norm(sum, {width}, one, zero).to(at::kBFloat16);
      });
  const AddNormForward kept = gpu.add_norm_forward(in);
  const AddNormGrads to{.weight = at::empty_like(one),
                        .bias = at::empty_like(one),
                        .branch_bias = at::empty_like(one)};
  const auto [y, mean, inverse] =
      at::native_layer_norm(kept.sum, {width}, one, zero, 1e-5);
  table.row(
      "add+layer_norm backward", {.bytes = 3 * stream + 2 * narrow},
      [&] {
        gpu.add_norm_backward({kept.sum, kept.statistics, one, true}, branch, x,
                              to);
      },
      [&, &means = mean, &inverses = inverse] {
        const auto grads = at::native_layer_norm_backward(
            branch.to(at::kFloat), kept.sum, {width}, means, inverses, one,
            zero, {true, true, true});
        const at::Tensor sum = std::get<0>(grads) + x;
        sum.to(at::kBFloat16).sum(0, false, at::kFloat);
      });
}

void gelus(FloorTable& table) {
  const GpuTable& gpu = gpu_table();
  constexpr std::int64_t rows = 32 * 1024, width = 3072;
  const at::Tensor wide = at::randn({rows, width}, half());
  const at::Tensor bias = at::zeros({width}, full());
  const at::Tensor bias16 = bias.to(at::kBFloat16);
  const at::Tensor bias_grad = at::empty_like(bias);
  table.row(
      "bias+gelu 32768x3072", {.bytes = 2 * bytes_of({wide})},
      [&] { gpu.gelu_forward(wide, bias, true); },
      [&] { at::gelu(wide + bias16, "tanh"); });
  table.row(
      "bias+gelu backward", {.bytes = 3 * bytes_of({wide})},
      [&] { gpu.gelu_backward(wide, wide, bias, true, bias_grad); },
      [&] {
        at::gelu_backward(wide, wide + bias16, "tanh")
            .sum(0, false, at::kFloat);
      });
  table.row(
      "column sums 32768x3072", {.bytes = bytes_of({wide})},
      [&] { gpu.half_column_sums(wide, bias_grad); },
      [&] { wide.sum(0, false, at::kFloat); });
}

// gpt's two ends: the loss over 50,257 words, the gradient of the embedding.
void vocabulary(FloorTable& table) {
  const GpuTable& gpu = gpu_table();
  constexpr std::int64_t rows = 8 * 1024, vocab = 50257, width = 768;
  const at::Tensor logits = without_padding(
      at::randn({rows, padded_columns(vocab)}, half()), {rows, vocab});
  const at::Tensor words = at::randint(vocab, {rows}, full().dtype(at::kLong));
  table.row(
      "cross-entropy and gradient 8192x50257",
      {.bytes = 2 * bytes_of({logits})},
      [&] { gpu.loss(logits, words, 0, 1.0 / rows); },
      [&] {
        const at::Tensor log = at::log_softmax(logits, 1, at::kFloat);
        const auto [loss, weight] =
            at::nll_loss_forward(log, words, {}, 1, -100);
        const at::Tensor g = at::nll_loss_backward(at::ones_like(loss), log,
                                                   words, {}, 1, -100, weight);
        at::_log_softmax_backward_data(g, log, 1, at::kFloat).to(at::kBFloat16);
      });
  const at::Tensor grad = at::randn({rows, width}, full());
  const at::Tensor to = at::zeros({vocab, width}, full());
  table.row(
      "embedding gradient 8192 of 50257x768", {.bytes = 3 * bytes_of({grad})},
      [&] { gpu.add_embedding_grad(words, grad, to); },
      [&] {
        to.add_(at::embedding_dense_backward(grad, words, vocab, -1, false));
      });
}

// CIFAR-10's images as bytes to a batch of 2,048.
void image_batches(FloorTable& table) {
  constexpr std::int64_t set = 50'000, batch = 2048;
  const auto bytes = full().dtype(at::kByte);
  ImageBatch b;
  b.pixels = at::randint(256, {set, 32, 32, 4}, bytes);
  b.classes = at::zeros({set}, full().dtype(at::kLong));
  std::vector<ImagePlace> places(batch);  // as they are
  b.order = at::from_blob(places.data(), {batch, 8}, at::kInt).cuda();
  b.order.select(1, 7).copy_(at::randperm(set).narrow(0, 0, batch));
  b.gain = {1, 1, 1}, b.white = {255, 255, 255}, b.offset = {0, 0, 0};
  b.inputs = images({batch, 3, 32, 32});
  b.targets = at::empty({batch}, full().dtype(at::kLong));
  const at::Tensor index = b.order.select(1, 7).to(at::kLong);
  table.row(
      "image batch 2048x3x32x32 (LibTorch's plain)",
      {.bytes = bytes_of({b.inputs}) + batch * 32.0 * 32 * 4},
      [&] { gpu_table().image_batch(b); },
      [&] {  // without crops, mirrors and normalising
        b.inputs.copy_(b.pixels.index_select(0, index).narrow(3, 0, 3).permute(
            {0, 3, 1, 2}));
      });
}

struct Rule {
  const char* name;
  OptimConfig optim;
  double floats;  // read or written of a parameter, its gradient's zero too
};

void updates(FloorTable& table, Device& device, const std::string& name,
             const ModelConfig& config) {
  const Rule rules[] = {{"sgd", {.kind = OptimKind::sgd, .momentum = 0.9}, 6},
                        {"adamw", {.kind = OptimKind::adamw}, 8},
                        {"lars", {.kind = OptimKind::lars, .momentum = 0.9}, 8},
                        {"lamb", {.kind = OptimKind::lamb}, 11}};
  for (const Rule& rule : rules) {
    Model model = make_model(config);
    model.module->to(device.torch());
    FlatParams params(*model.module);
    OptimConfig optim = rule.optim;
    optim.weight_decay = 0.01;
    Optimizer optimizer(optim, params, device);
    params.grads().fill_(1e-3);
    table.row(std::string("update ") + rule.name + " of " + name,
              {.bytes = 4 * rule.floats *
                        static_cast<double>(params.values().numel())},
              [&] { optimizer.step(1e-6); });
  }
}

void all_of(Device& device) {
  const at::NoGradGuard no_grad;
  FloorTable table(device);
  for (const bool residual : {false, true}) norms(table, residual);
  depthwise(table, 96, 112, 2);
  depthwise(table, 144, 56, 1);
  max_pools(table);
  convolutions(table);
  layer_norms(table);
  gelus(table);
  vocabulary(table);
  image_batches(table);
  updates(table, device, "resnet18, 11 M",
          {.kind = ModelKind::resnet18, .classes = 10});
  updates(table, device, "gpt, 124 M",
          {.kind = ModelKind::gpt,
           .vocab = 50257,
           .context = 1024,
           .layers = 12,
           .heads = 12,
           .width = 768});
}

}  // namespace
}  // namespace lockstep

int main() {
  using namespace lockstep;
  try {
    const auto device = open_device("cuda");
    device->search_kernels(true);
    all_of(*device);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_kernels_bench: %s\n", error.what());
    return 1;
  }
}
