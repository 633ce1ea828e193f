// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/evaluate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>

#include "lockstep/batch/information.h"
#include "lockstep/comm/group.h"
#include "lockstep/core/file.h"
#include "lockstep/data/loader.h"
#include "lockstep/device/device.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

std::int64_t evaluation_batch(const RunConfig& config) {
  if (config.train.eval_batch > 0) return config.train.eval_batch;
  return std::max<std::int64_t>(256, config.batch.per_rank);
}

double information_of(const Confusion& confusion) {
  const std::int64_t n = confusion.classes;
  if (n < 2) return std::nan("");
  if (can_correct_bias(num_examples(confusion), n))
    return miller_madow_information(confusion);
  return fano_information(accuracy(confusion), n, label_entropy(confusion));
}

using Range =
    std::pair<std::int64_t, std::int64_t>;  // of samples: [begin, end)

// Calls `use` with each batch of the range, on the device.
void for_each_batch(const RunConfig& config, const HeldBack& held,
                    Device& device, const Range& range,
                    const std::function<void(const Batch&)>& use) {
  std::vector<std::int64_t> samples(
      static_cast<std::size_t>(range.second - range.first));
  std::iota(samples.begin(), samples.end(), range.first);
  const std::int64_t size = evaluation_batch(config);
  const auto use_one = [&](const Batch& batch) {
    search_kernels_for(config, device, batch.samples == size);
    use(to_device(batch, device.torch(), config.train));
  };
  if (held.resident != nullptr) {
    const at::Tensor order = held.resident->order(samples);
    for (const at::Tensor& part : order.split(size))
      use_one(held.resident->batch(part, 0));
    return;
  }
  Loader loader(held.data, std::move(samples),
                {.batch = size, .workers = config.data.workers});
  while (std::optional<Batch> batch = loader.next()) use_one(*batch);
}

at::Tensor with_mirror(const RunConfig& config, const Model& model,
                       const at::Tensor& inputs) {
  at::Tensor logits = forward(model, inputs, config.train);
  if (!config.train.eval_mirror) return logits;
  return (logits + forward(model, inputs.flip({-1}), config.train)) / 2;
}

// On average over what train.eval_mirror and eval_shift_px ask for: the image
// counts as much as what it looks like moved up left and down right.
at::Tensor logits_of(const RunConfig& config, const Model& model,
                     const at::Tensor& inputs) {
  at::Tensor logits = with_mirror(config, model, inputs);
  const std::int64_t shift = config.train.eval_shift_px;
  if (shift == 0) return logits;
  const at::Tensor padded =
      at::reflection_pad2d(inputs, {shift, shift, shift, shift});
  const auto moved = [&](std::int64_t by) {
    const at::Tensor window =
        padded.narrow(2, by, inputs.size(2)).narrow(3, by, inputs.size(3));
    return with_mirror(config, model,
                       window.contiguous(inputs.suggest_memory_format()));
  };
  return logits / 2 + (moved(0) + moved(2 * shift)) / 4;
}

// Calls `use` with the logits of each batch of the range.
void for_each_logits(
    const RunConfig& config, const Model& model, const HeldBack& held,
    Device& device, const Range& range,
    const std::function<void(const at::Tensor&, const Batch&)>& use) {
  const at::NoGradGuard no_grad;
  model.module->eval();
  for_each_batch(config, held, device, range, [&](const Batch& batch) {
    use(logits_of(config, model, batch.inputs), batch);
  });
  model.module->train();
}

}  // namespace

Evaluation evaluate(const RunConfig& config, const Model& model,
                    const HeldBack& held, Device& device, Group& group) {
  const Dataset& data = held.data;
  const auto zeros = [&](std::int64_t n, at::ScalarType type) {
    return at::zeros({n}, at::TensorOptions(type).device(device.torch()));
  };
  // Text has too many tokens for a confusion matrix: right or wrong is enough.
  const std::int64_t classes = data.shape().tokens ? 0 : data.shape().classes;
  at::Tensor loss = zeros(1, at::kFloat);
  at::Tensor counts = zeros(3 + classes * classes, at::kLong);
  const std::int64_t begin = data.size() * group.rank() / group.size();
  const std::int64_t end = data.size() * (group.rank() + 1) / group.size();
  for_each_logits(config, model, held, device, {begin, end},
                  [&](const at::Tensor& logits, const Batch& batch) {
                    loss += loss_of(logits, batch.targets, 0) *
                            static_cast<double>(batch.samples);
                    counts[0] += count_correct(logits, batch.targets);
                    counts[1] += batch.targets.numel();
                    counts[2] += batch.samples;
                    if (classes > 0)
                      counts.slice(0, 3) += at::bincount(
                          batch.targets * classes +
                              logits.argmax(-1).clamp_max(classes - 1),
                          {}, classes * classes);
                  });
  at::Tensor loss_sum = loss.cpu();
  counts = counts.cpu();
  if (group.size() > 1) {
    group.run({.op = Collective::all_reduce, .tensor = loss_sum});
    group.run({.op = Collective::all_reduce, .tensor = counts});
  }
  const auto* n = counts.const_data_ptr<std::int64_t>();
  return {.loss = loss_sum.item<double>() / static_cast<double>(n[2]),
          .accuracy = static_cast<double>(n[0]) / static_cast<double>(n[1]),
          .information_nats = information_of(
              {.classes = classes, .count = {n + 3, n + counts.numel()}}),
          .samples = n[2]};
}

void write_probabilities(const std::filesystem::path& file,
                         const RunConfig& config, const Model& model,
                         const Dataset& data, Device& device) {
  std::string text = "sample,class";
  for (std::int64_t c = 0; c < data.shape().classes; ++c)
    text += fmt::format(",p{}", c);
  text += "\n";
  std::int64_t sample = 0;
  for_each_logits(
      config, model, {data}, device, {0, data.size()},
      [&](const at::Tensor& logits, const Batch& batch) {
        const at::Tensor p = logits.softmax(-1).cpu().contiguous();
        const at::Tensor classes = batch.targets.cpu();
        for (std::int64_t i = 0; i < batch.samples; ++i) {
          fmt::format_to(std::back_inserter(text), "{},{}", sample++,
                         classes.const_data_ptr<std::int64_t>()[i]);
          for (std::int64_t c = 0; c < p.size(1); ++c)
            fmt::format_to(std::back_inserter(text), ",{}",
                           p.const_data_ptr<float>()[i * p.size(1) + c]);
          text += '\n';
        }
      });
  write_file(file, text);
}

}  // namespace lockstep
