// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/update_op.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/tensor_args.h"
#include "lockstep/cuda/update.h"

namespace lockstep {
namespace {

float to_float(double x) { return static_cast<float>(x); }

UpdateRates rates_of(const UpdateArgs& a) {
  const auto step = static_cast<double>(a.step);
  return {.lr = to_float(a.lr),
          .grad_scale = to_float(a.grad_scale),
          .correction1 = to_float(1 - std::pow(a.beta1, step)),
          .correction2 = to_float(1 - std::pow(a.beta2, step))};
}

UpdateRates* rates_at(const UpdateArgs& a) {
  if (!a.rates.defined()) return nullptr;
  return reinterpret_cast<UpdateRates*>(a.rates.data_ptr<float>());
}

UpdateNumbers numbers(const UpdateArgs& a) {
  return {.now = rates_of(a),
          .rates = rates_at(a),
          .weight_decay = to_float(a.weight_decay),
          .momentum = to_float(a.momentum),
          .take1 = to_float(1 - a.beta1),
          .beta2 = to_float(a.beta2),
          .take2 = to_float(1 - a.beta2),
          .eps = to_float(a.eps),
          .nesterov = a.nesterov,
          .decoupled_decay = a.decoupled_decay,
          .trust_coefficient = to_float(a.trust.coefficient),
          .trust_clip = a.trust.clip};
}

std::vector<UpdateRun> runs_of(const UpdateArgs& a) {
  if (!a.runs.empty()) return a.runs;
  return {{.begin = 0, .numel = a.values.numel(), .zero = a.zero_grads}};
}

int flags_of(const UpdateRun& run) {
  return (run.decay ? kDecay : 0) | (run.zero ? kZero : 0) |
         (run.adapt ? kAdapt : 0);
}

// See UpdatePointers.
int offset_of(const UpdateArgs& a) {
  int offset = -1;
  for (const at::Tensor& t : {a.values, a.grads, a.first, a.second}) {
    if (!t.defined()) continue;
    const auto here = static_cast<int>(
        reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) / 4 % 4);
    if (offset >= 0 && here != offset) return -1;
    offset = here;
  }
  return offset;
}

UpdatePointers pointers(const UpdateArgs& a, const at::Tensor& chunks) {
  const auto at = [](const at::Tensor& t) {
    return t.defined() ? t.data_ptr<float>() : nullptr;
  };
  return {.values = at(a.values),
          .grads = at(a.grads),
          .first = at(a.first),
          .second = at(a.second),
          .chunks = reinterpret_cast<const UpdateChunk*>(chunks.data_ptr()),
          .num_chunks = chunks.size(0),
          .trust = nullptr,
          .offset = offset_of(a)};
}

// Rows of two int64 on the device.
template <class Row>
at::Tensor rows_on_device(std::vector<Row> rows, c10::Device device) {
  static_assert(sizeof(Row) == 2 * sizeof(std::int64_t));
  const auto count = static_cast<std::int64_t>(rows.size());
  return at::from_blob(rows.data(), {count, 2}, at::kLong).to(device);
}

// Later chunks begin where four elements can be read at once.
void add_chunks(const UpdateRun& run, std::int32_t index,
                std::vector<UpdateChunk>& to) {
  const std::int64_t end = run.begin + run.numel;
  for (std::int64_t i = run.begin; i < end;) {
    const std::int64_t next =
        std::min(end, (i + kChunkNumel) / kChunkNumel * kChunkNumel);
    to.push_back({i, index, static_cast<std::int16_t>(next - i),
                  static_cast<std::int16_t>(flags_of(run))});
    i = next;
  }
}

// What the two passes of LARS and LAMB hand over. Allocated for each update:
// in a captured one it comes from the graph's own memory.
struct Trust {
  at::Tensor partial, trust;
  TrustPointers pointers;
};

Trust trust_of(const UpdateArgs& a, const at::Tensor& chunks,
               const at::Tensor& runs) {
  const auto options = a.values.options().dtype(at::kDouble);
  Trust out{at::empty({chunks.size(0), 2}, options),
            at::empty({runs.size(0)}, options),
            {}};
  out.pointers = {
      .partial = reinterpret_cast<double2*>(out.partial.data_ptr<double>()),
      .trust = out.trust.data_ptr<double>(),
      .runs = reinterpret_cast<const UpdateChunks*>(runs.data_ptr()),
      .num_runs = runs.size(0)};
  return out;
}

}  // namespace

const GpuUpdates::Tables& GpuUpdates::tables_of(const UpdateArgs& args) {
  const std::vector<UpdateRun> runs = runs_of(args);
  for (const Tables& known : tables_)
    if (known.runs == runs) return known;
  std::vector<UpdateChunk> chunks;
  std::vector<UpdateChunks> of_runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t begin = chunks.size();
    add_chunks(runs[i], static_cast<std::int32_t>(i), chunks);
    of_runs.push_back({static_cast<std::int64_t>(begin),
                       static_cast<std::int32_t>(chunks.size() - begin),
                       flags_of(runs[i])});
  }
  const c10::Device device = args.values.device();
  return tables_.emplace_back(
      Tables{runs, rows_on_device(std::move(chunks), device),
             rows_on_device(std::move(of_runs), device)});
}

void GpuUpdates::sgd(const UpdateArgs& args) {
  launch_sgd(pointers(args, tables_of(args).chunks), numbers(args),
             stream_of(args.values));
  cuda_check(cudaGetLastError(), "sgd update");
}

void GpuUpdates::adam(const UpdateArgs& args) {
  launch_adam(pointers(args, tables_of(args).chunks), numbers(args),
              stream_of(args.values));
  cuda_check(cudaGetLastError(), "adam update");
}

void GpuUpdates::lars(const UpdateArgs& args) {
  adapted(args, launch_lars_trust, launch_sgd);
  cuda_check(cudaGetLastError(), "lars update");
}

void GpuUpdates::lamb(const UpdateArgs& args) {
  adapted(args, launch_lamb_trust, launch_lamb_apply);
  cuda_check(cudaGetLastError(), "lamb update");
}

// Factors of all tensors first, then the step that they scale.
template <class LaunchTrust, class LaunchStep>
void GpuUpdates::adapted(const UpdateArgs& args, LaunchTrust launch_trust,
                         LaunchStep launch_step) {
  const Tables& tables = tables_of(args);
  const Trust trust = trust_of(args, tables.chunks, tables.of_runs);
  UpdatePointers p = pointers(args, tables.chunks);
  const UpdateNumbers n = numbers(args);
  const cudaStream_t stream = stream_of(args.values);
  launch_trust(p, n, trust.pointers, stream);
  p.trust = trust.pointers.trust;
  launch_step(p, n, stream);
}

void GpuUpdates::put_rates(const UpdateArgs& args) {
  launch_put_rates(rates_of(args), rates_at(args), stream_of(args.rates));
  cuda_check(cudaGetLastError(), "rates");
}

}  // namespace lockstep
