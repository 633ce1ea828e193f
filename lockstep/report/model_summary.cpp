// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/model_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

std::string shape_text(const Shape& shape) {
  return fmt::format("[-1, {}]", fmt::join(shape, ", "));
}

std::string bytes_text(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string ratio_text(double bytes_per_flop) {
  return fmt::format("{:.3g}", bytes_per_flop);
}

}  // namespace

std::string torchsummary_text(const WorkPlan& plan) {
  const std::string thin(64, '-'), thick(64, '=');
  std::string out = thin + "\n" +
                    fmt::format("{:>20}  {:>25} {:>15}\n", "Layer (type)",
                                "Output Shape", "Param #") +
                    thick + "\n";
  std::int64_t outputs = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const LayerWork& layer = plan.layers[i];
    out += fmt::format("{:>20}  {:>25} {:>15}\n",
                       fmt::format("{}-{}", layer.type, i + 1),
                       shape_text(layer.output), format_count(layer.params));
    outputs += layer.output_numel;
  }
  const std::string count = format_count(plan.param_count());
  out += fmt::format(
      "{}\nTotal params: {}\nTrainable params: {}\nNon-trainable params: 0\n",
      thick, count, count);
  const double input = 4.0 * static_cast<double>(numel(plan.input)) / kMebibyte;
  // Every output once forward and once as a gradient.
  const double passes = 2 * 4.0 * static_cast<double>(outputs) / kMebibyte;
  const double params = static_cast<double>(plan.param_bytes()) / kMebibyte;
  out += fmt::format(
      "{}\nInput size (MB): {:.2f}\nForward/backward pass size (MB): {:.2f}\n"
      "Params size (MB): {:.2f}\nEstimated Total Size (MB): {:.2f}\n{}\n",
      thin, input, passes, params, input + passes + params, thin);
  return out + "MB is 2^20 bytes in this table alone, 10^6 everywhere else.\n";
}

std::string training_text(const WorkPlan& plan, const TrainingSetup& setup) {
  const MemoryNeed need =
      memory_need(plan, setup.optim, setup.precision, setup.batch);
  const double ratio = plan.param_bytes_per_flop();
  std::string out = fmt::format(
      "FLOPs a sample: {} forward, {} backward\n"
      "Parameter bytes per FLOP: {} at batch 1",
      format_flops(plan.forward_flops()), format_flops(plan.backward_flops()),
      ratio_text(ratio));
  if (setup.batch > 1)
    out += fmt::format(", {} at batch {}",
                       ratio_text(ratio / static_cast<double>(setup.batch)),
                       setup.batch);
  out += fmt::format("\nMemory to train at batch {}, {}, {} (computed):\n",
                     setup.batch, setup.optim_name, setup.precision_name);
  const auto line = [&](const char* what, std::int64_t bytes) {
    if (bytes > 0)
      out += fmt::format("  {:<24}{:>9}\n", what, bytes_text(bytes));
  };
  line("parameters and buffers", need.param_bytes);
  line("parameters in bf16", need.cast_bytes);
  line("gradients", need.grad_bytes);
  line("optimiser", need.optim_bytes);
  line("activations", need.activation_bytes);
  line("inputs", need.input_bytes);
  line("total", need.total_bytes());
  return out;
}

Table layer_table(const WorkPlan& plan, Precision precision) {
  Table table{.verb = "summary",
              .columns = {{.name = "layer"},
                          {.name = "name"},
                          {.name = "type"},
                          {.name = "output_shape"},
                          {.name = "params"},
                          {.name = "forward_flops"},
                          {.name = "backward_flops"},
                          {.name = "activation_bytes"}}};
  const std::int64_t width = precision == Precision::bf16 ? 2 : 4;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const LayerWork& l = plan.layers[i];
    table.add({static_cast<std::int64_t>(i + 1), l.name, l.type,
               fmt::format("{}", fmt::join(l.output, "x")), l.params,
               l.forward_flops, l.backward_flops,
               width * l.kept_numel + 8 * l.kept_indices});
  }
  return table;
}

Table model_table(std::span<const NamedPlan> plans,
                  const TrainingSetup& setup) {
  const auto ratio = [](const Cell& cell) {
    return ratio_text(std::get<double>(cell));
  };
  Table table{
      .verb = "summary",
      .columns = {
          {.name = "model"},
          {.name = "input"},
          {.name = "params"},
          {.name = "param_bytes", .title = "bytes", .show = with(format_bytes)},
          {.name = "forward_flops",
           .title = "forward",
           .show = with(format_flops)},
          {.name = "backward_flops",
           .title = "backward",
           .show = with(format_flops)},
          {.name = "param_bytes_per_flop",
           .title = "bytes/FLOP",
           .show = ratio},
          {.name = "activation_bytes",
           .title = "activations",
           .show = with(format_bytes)},
          {.name = "memory_bytes",
           .title = "memory",
           .show = with(format_bytes)},
          {.name = "settings"}}};
  for (const auto& [settings, plan] : plans)
    table.add({plan.model, fmt::format("{}", fmt::join(plan.input, "x")),
               plan.param_count(), plan.param_bytes(), plan.forward_flops(),
               plan.backward_flops(), plan.param_bytes_per_flop(),
               plan.activation_bytes(setup.precision),
               memory_need(plan, setup.optim, setup.precision, setup.batch)
                   .total_bytes(),
               settings});
  return table;
}

}  // namespace lockstep
