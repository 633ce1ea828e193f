// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/floor.h"

#include <algorithm>
#include <map>

#include "lockstep/core/error.h"
#include "lockstep/predict/workload.h"

namespace lockstep {
namespace {

// What a layer must do for one batch. Elements, not bytes.
struct Need {
  double in = 0, in_grad = 0;  // read in each pass; gradients written
  double out = 0;              // written, and its gradient read
  double weights = 0;
  std::optional<double> forward_flops = {}, backward_flops = {};

  double forward_bytes(double element) const {
    return element * (in + out + weights);
  }
  double backward_bytes(double element) const {
    return element * (out + in + in_grad + weights) + kGradientBytes * weights;
  }
};

double element_bytes(Precision precision) {
  return precision == Precision::bf16 ? 2 : 4;
}

// Rows of the answer that hold something of the model: layers, then the loss.
std::size_t row_count(const Profile& profile) {
  return profile.layers.size() + (profile.loss ? 1 : 0);
}

// The layer of the profile that holds each row of the plan: the one of its
// name, the owner of the weight it shares, or that of the row before. A head
// that shares a weight is timed with the loss, where the loss is timed.
std::vector<std::size_t> layer_of_rows(const WorkPlan& plan,
                                       const Profile& profile) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < profile.layers.size(); ++i)
    by_name[profile.layers[i].name] = i;
  std::vector<std::size_t> out;
  for (const LayerWork& row : plan.layers) {
    if (profile.loss && !row.shares.empty()) {
      out.push_back(profile.layers.size());
      continue;
    }
    const auto own = by_name.find(row.shares.empty() ? row.name : row.shares);
    out.push_back(own != by_name.end() ? own->second
                  : out.empty()        ? 0
                                       : out.back());
  }
  return out;
}

// Weights that a row reads: a table only where tokens point at it.
double weights_of(const WorkPlan& plan, const LayerWork& row, double batch) {
  const auto owner =
      std::ranges::find(plan.layers, row.shares, &LayerWork::name);
  if (!row.shares.empty() && owner != plan.layers.end())
    return static_cast<double>(owner->params);
  const double all = static_cast<double>(row.params);
  return row.type == "Embedding"
             ? std::min(all, batch * static_cast<double>(row.output_numel))
             : all;
}

// It reads what the model gave, in each pass, and writes its gradient.
void add_loss(Need& need, double elements) {
  need.in = need.in_grad = elements;
}

// `between`: what the row before hands on without memory.
void add_row(Need& need, const WorkPlan& plan, std::size_t i, double batch,
             double between) {
  const LayerWork& row = plan.layers[i];
  const double in = batch * static_cast<double>(row.input_numel) - between;
  need.in += in;
  need.in_grad += i > 0 ? in : 0;  // nobody asks for that of the data
  need.out += batch * static_cast<double>(row.output_numel) - between;
  need.weights += weights_of(plan, row, batch);
  *need.forward_flops += batch * row.forward_flops;
  *need.backward_flops += batch * row.backward_flops;
}

// Rows of one layer that follow each other hand on what lies between them.
std::vector<Need> needs_by(const WorkPlan& plan, const Profile& profile) {
  const double batch = static_cast<double>(profile.batches.back());
  const std::vector<std::size_t> layer = layer_of_rows(plan, profile);
  std::vector<Need> out(row_count(profile));
  for (Need& need : out) need.forward_flops = need.backward_flops = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const bool inside = i > 0 && layer[i] == layer[i - 1];
    const double between = inside
                               ? batch * static_cast<double>(std::min(
                                             plan.layers[i].input_numel,
                                             plan.layers[i - 1].output_numel))
                               : 0;
    add_row(out[layer[i]], plan, i, batch, between);
  }
  if (profile.loss && layer.back() != profile.layers.size())
    add_loss(out.back(),
             batch * static_cast<double>(plan.layers.back().output_numel));
  return out;
}

std::vector<Need> needs_by(const Profile& profile) {
  const double batch = static_cast<double>(profile.batches.back());
  const double element = element_bytes(profile.precision);
  std::vector<Need> out(row_count(profile));
  for (const ProfileParam& param : profile.params)
    out[param.layer].weights += static_cast<double>(param.numel);
  double before = profile.input_bytes;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const ProfileLayer& layer = profile.layers[i];
    Need& need = out[i];
    // One that keeps nothing and has no weights may be a view.
    if (layer.activation_bytes > 0 || need.weights > 0) {
      need.in = batch * before / element;
      need.in_grad = i > 0 ? need.in : 0;
      need.out = batch * layer.output_bytes / element;
      if (layer.type == "Embedding")
        need.weights = std::min(need.weights, need.out);
    }
    before = layer.output_bytes;
  }
  if (profile.loss) add_loss(out.back(), batch * before / element);
  return out;
}

LayerFloor floor_of(const Need& need, double element, const Floors& on) {
  const double rate = on.device.memory_bytes_per_s;
  const double there_s = need.forward_bytes(element) / rate;
  const double back_s = need.backward_bytes(element) / rate;
  LayerFloor out;
  out.bytes = need.forward_bytes(element) + need.backward_bytes(element);
  out.floor_s = there_s + back_s;
  if (!need.forward_flops) return out;
  const double forward_s = *need.forward_flops / on.peak_flops;
  const double backward_s = *need.backward_flops / on.peak_flops;
  out.flops = *need.forward_flops + *need.backward_flops;
  out.floor_s = std::max(there_s, forward_s) + std::max(back_s, backward_s);
  out.by_compute = forward_s + backward_s > there_s + back_s;
  return out;
}

// Reads values, gradients and state, writes values and state.
LayerFloor update_floor(const Profile& p, const DeviceSpec& device) {
  double params = 0;
  for (const ProfileParam& param : p.params)
    params += static_cast<double>(param.numel);
  LayerFloor out{.name = "update", .type = ""};
  out.timed_s = out.step_s = p.optimizer_s;
  out.bytes = 3 * kGradientBytes * params + 2 * p.optimizer_bytes;
  out.floor_s = out.bytes / device.memory_bytes_per_s;
  return out;
}

}  // namespace

bool Floors::knows_flops() const {
  return std::ranges::any_of(
      rows, [](const LayerFloor& row) { return row.flops.has_value(); });
}

double planned_intensity(const WorkPlan& plan, double batch,
                         Precision precision) {
  Need need{.forward_flops = 0, .backward_flops = 0};
  for (std::size_t i = 0; i < plan.layers.size(); ++i)
    add_row(need, plan, i, batch, 0);
  const double element = element_bytes(precision);
  return (*need.forward_flops + *need.backward_flops) /
         (need.forward_bytes(element) + need.backward_bytes(element));
}

bool describes(const WorkPlan& plan, const Profile& profile) {
  if (!std::ranges::equal(plan.params, profile.params,
                          [](const ParamInfo& a, const ProfileParam& b) {
                            return a.name == b.name && a.numel == b.numel;
                          }))
    return false;
  const double input_bytes =
      static_cast<double>(numel(plan.input)) * (plan.tokens ? 8 : 4);
  if (input_bytes != profile.input_bytes) return false;
  return std::ranges::all_of(plan.params, [&](const ParamInfo& param) {
    return std::ranges::find(profile.layers, plan.layers[param.layer].name,
                             &ProfileLayer::name) != profile.layers.end();
  });
}

Floors floors_of(const Profile& profile, const std::optional<WorkPlan>& plan,
                 const DeviceSpec& device) {
  check(!plan || describes(*plan, profile), "the plan is the profile's model");
  const std::size_t last = profile.batches.size() - 1;
  Floors out{.model = profile.model,
             .measured_on = profile.device + ", " + profile.software,
             .device = device,
             .precision = profile.precision,
             .batch = profile.batches[last],
             .peak_flops = device.peak_flops(profile.precision)};
  out.scale = fit_to_step(profile, last);
  const std::vector<Need> needs =
      plan ? needs_by(*plan, profile) : needs_by(profile);
  for (std::size_t i = 0; i < needs.size(); ++i) {
    LayerFloor row = floor_of(needs[i], element_bytes(profile.precision), out);
    const auto timed = [&](const auto& of) {
      row.timed_s = of.forward_s[last] + of.backward_s[last];
    };
    if (i < profile.layers.size()) {
      const ProfileLayer& layer = profile.layers[i];
      row.name = layer.name, row.type = layer.type;
      timed(layer);
    } else {
      row.name = "loss";
      timed(*profile.loss);
    }
    row.step_s = out.scale * row.timed_s;
    out.rows.push_back(std::move(row));
  }
  out.rows.push_back(update_floor(profile, device));
  out.step_s = profile.step_s[last];
  for (const LayerFloor& row : out.rows) out.floor_s += row.floor_s;
  return out;
}

}  // namespace lockstep
