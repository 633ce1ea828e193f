// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/roofline.h"

#include <algorithm>

#include "lockstep/plan/comm_plan.h"

namespace lockstep {
namespace {

// Batch sizes at which the estimate is written down; times between them are
// straight lines.
constexpr int kLargestPower = 16;

double pick(const Efficiency& e, Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return e.fp32;
    case Precision::tf32:
      return e.tf32;
    case Precision::bf16:
      return e.half;
  }
  return e.fp32;
}

const Efficiency& efficiency(const Kernels& kernels, const LayerWork& layer) {
  if (layer.type == "Conv1d") return kernels.conv1d;
  return layer.type == "Conv2d" ? kernels.conv : kernels.matmul;
}

bool is_thin(const LayerWork& layer) {
  return layer.type == "Conv2d" &&
         layer.forward_flops <
             kThinConvFlops * static_cast<double>(layer.output_numel);
}

// Reads and writes of one parameter by one update, in floats. LAMB takes two
// passes, the second over values and moments.
double update_floats(const OptimConfig& optim) {
  if (optim.kind == OptimKind::lamb) return 10;
  if (keeps_square(optim.kind)) return 7;
  const double norms = optim.kind == OptimKind::lars ? 2 : 0;
  return norms + (optim.momentum > 0 ? 5 : 3);
}

struct Rates {
  double peak_flops = 1, peak_bytes_per_s = 1, floor_s = 0, element_bytes = 4;
  Precision precision = Precision::fp32;
  const Kernels* kernels = &kLibraryKernels;

  double time(const LayerWork& layer, double flops, double bytes,
              double launches) const {
    const double reached = pick(efficiency(*kernels, layer), precision);
    const double memory =
        is_thin(layer) ? pick(kernels->thin_conv, precision) : kernels->memory;
    return std::max({flops / (peak_flops * reached),
                     bytes / (peak_bytes_per_s * memory), launches * floor_s});
  }
};

void add_times(ProfileLayer& out, const LayerWork& layer, const Rates& rates,
               double batch) {
  const double moved =
      batch * rates.element_bytes *
      static_cast<double>(layer.input_numel + layer.output_numel);
  const double weights = 4.0 * static_cast<double>(layer.params);
  out.forward_s.push_back(
      rates.time(layer, batch * layer.forward_flops, moved + weights, 1));
  // Backward reads the gradient and what was kept, and writes one gradient for
  // the input and one for the weights.
  out.backward_s.push_back(rates.time(layer, batch * layer.backward_flops,
                                      2 * moved + 2 * weights,
                                      layer.params > 0 ? 2 : 1));
}

// Where the host launches more slowly than the device works, the device waits.
void stretch_to_host(Profile& p, const Software& software) {
  const double host_s =
      software.layer_s * 2 * static_cast<double>(p.layers.size());
  for (std::size_t b = 0; b < p.batches.size(); ++b) {
    double device_s = 0;
    for (const ProfileLayer& l : p.layers)
      device_s += l.forward_s[b] + l.backward_s[b];
    const double stretch = std::max(1.0, host_s / device_s);
    for (ProfileLayer& l : p.layers) {
      l.forward_s[b] *= stretch;
      l.backward_s[b] *= stretch;
    }
    p.step_s.push_back(device_s * stretch + p.optimizer_s + software.step_s);
  }
}

}  // namespace

Profile estimate_profile(const WorkPlan& work, const DeviceSpec& device,
                         const Setting& setting) {
  const bool half = setting.precision == Precision::bf16;
  const Rates rates{.peak_flops = device.peak_flops(setting.precision),
                    .peak_bytes_per_s = device.memory_bytes_per_s,
                    .floor_s = device.kernel_floor_s,
                    .element_bytes = half ? 2.0 : 4.0,
                    .precision = setting.precision,
                    .kernels = setting.software.own_kernels ? &kOwnKernels
                                                            : &kLibraryKernels};
  Profile p;
  p.model = work.model;
  p.device = device.name;
  p.software = setting.software.name + " (estimated)";
  p.precision = setting.precision;
  for (int i = 0; i <= kLargestPower; ++i) p.batches.push_back(1LL << i);
  for (const LayerWork& layer : work.layers) {
    ProfileLayer& out = p.layers.emplace_back();
    out.name = layer.name, out.type = layer.type;
    out.activation_bytes =
        rates.element_bytes * static_cast<double>(layer.kept_numel) +
        8.0 * static_cast<double>(layer.kept_indices);
    out.output_bytes =
        rates.element_bytes * static_cast<double>(layer.output_numel);
    for (const std::int64_t b : p.batches)
      add_times(out, layer, rates, static_cast<double>(b));
  }
  const ParamList list = param_list(work);
  for (std::size_t i = 0; i < work.params.size(); ++i) {
    p.params.push_back({work.params[i].name, work.params[i].numel,
                        work.params[i].layer, list.rows[i]});
    p.gradient_order.push_back(work.params.size() - 1 - i);
  }
  p.buffer_bytes = static_cast<double>(work.buffer_bytes());
  p.input_bytes =
      static_cast<double>(numel(work.input)) * (work.tokens ? 8 : 4);
  p.output_bytes =
      work.layers.empty()
          ? 0
          : 4.0 * static_cast<double>(work.layers.back().output_numel);
  p.optimizer_s = std::max(
      rates.floor_s, update_floats(setting.optim) *
                         static_cast<double>(work.param_bytes()) /
                         (rates.peak_bytes_per_s * rates.kernels->update));
  for (const std::int64_t b : p.batches) {
    const MemoryNeed need =
        memory_need(work, setting.optim, setting.precision, b);
    p.optimizer_bytes = static_cast<double>(need.optim_bytes);
    p.memory_bytes.push_back(static_cast<double>(need.total_bytes()) +
                             kContextBytes);
  }
  stretch_to_host(p, setting.software);
  return p;
}

}  // namespace lockstep
