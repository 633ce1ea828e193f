// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/prepare.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <mutex>

#include "lockstep/comm/agree.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/version.h"
#include "lockstep/model/whiten.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/store/samples_csv.h"
#include "lockstep/store/trace.h"
#include "lockstep/train/adaptive_batch.h"
#include "lockstep/train/batch_record.h"
#include "lockstep/train/evaluate.h"
#include "lockstep/train/lookahead.h"
#include "lockstep/train/machine.h"
#include "lockstep/train/noise_log.h"
#include "lockstep/train/pilot.h"
#include "lockstep/train/rehearse.h"
#include "lockstep/train/tensor_file.h"

namespace lockstep {
namespace {

// Convolution weights in the order the images have.
void to_channels_last(torch::nn::Module& module) {
  for (at::Tensor& p : module.parameters())
    if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
}

Json work_json(const RunConfig& config) {
  const WorkPlan plan = plan_work(config.model);
  return Json{{"parameters", plan.param_count()},
              {"parameter_bytes", plan.param_bytes()},
              {"forward_flops_a_sample", plan.forward_flops()},
              {"backward_flops_a_sample", plan.backward_flops()}};
}

Json comm_json(const CommPlan& plan) {
  std::int64_t bytes = 0;
  for (const Message& m : plan) bytes += m.bytes;
  return Json{{"messages_a_step", plan.size()}, {"bytes_a_step", bytes}};
}

Json emulated_json(const CommConfig& comm) {
  return Json{{"real_ranks", 1},
              {"link", comm.link},
              {"note",
               "a message takes the time that the link model gives it, moves "
               "nothing and takes no bandwidth from the computation"}};
}

// Every rank of an emulated cluster has samples; only the real one has rows.
void count_emulated(Json& summary, const RunConfig& config) {
  if (config.comm.kind != CommKind::emulated) return;
  const auto rate = summary.find("samples_per_s");
  if (rate != summary.end() && rate->is_number())
    *rate = rate->get<double>() * static_cast<double>(config.comm.ranks);
}

Json versions_json() {
  Json out = Json::object();
  for (const auto& [part, text] : versions()) out[part] = text;
  out["libtorch"] = TORCH_VERSION;
  return out;
}

void check_views(const RunConfig& config, const DataSplit& data) {
  const std::vector<std::int64_t>& shape = data.train->shape().input;
  const bool images = shape.size() == 3;
  if (config.train.eval_mirror && !images)
    throw Error(Fault::config, "train.eval_mirror", "samples are no images",
                "leave it false");
  if (config.train.eval_shift_px > 0 &&
      (!images || config.train.eval_shift_px >= shape.back()))
    throw Error(Fault::config, "train.eval_shift_px",
                images ? "is no less than the side of an image"
                       : "samples are no images",
                images ? "make it smaller" : "leave it at 0");
}

}  // namespace

std::unique_ptr<Device> prepare_device(const RunConfig& config,
                                       const Group& group) {
  // Per calling thread. The group gave each of several ranks its share.
  if (config.train.threads > 0)
    at::set_num_threads(static_cast<int>(config.train.threads));
  else if (group.size() == 1)
    at::set_num_threads(core_count());
  std::unique_ptr<Device> device = open_device(config.train.device);
  device->allow_tf32(config.train.precision != Precision::fp32);
  device->search_kernels(config.train.search_kernels);
  return device;
}

void search_kernels_for(const RunConfig& config, Device& device,
                        bool comes_again) {
  if (config.comm.ranks == 1)
    device.search_kernels(config.train.search_kernels && comes_again);
}

RunConfig complete(const RunConfig& config, const DataSplit& data) {
  check_noise(config);
  check_decisions(config);
  check_pilot(config, data);
  check_rehearsal(config);
  check_views(config, data);
  check_lookahead(config);
  RunConfig out = config;
  const std::int64_t classes = data.train->shape().classes;
  const bool text = config.model.kind == ModelKind::gpt;
  std::int64_t& outputs = text ? out.model.vocab : out.model.classes;
  if (!text && outputs == 0) outputs = classes;
  if (outputs < classes)
    throw Error(Fault::config, text ? "model.vocab" : "model.classes",
                fmt::format("is {}, the data has {} classes", outputs, classes),
                text ? "raise it" : "raise it, or leave it at 0");
  return out;
}

Model prepare_model(const RunConfig& config, Device& device) {
  // torch's default generator is one for all threads: ranks take turns, so
  // that each draws the same weights from the same seed.
  static std::mutex turn;
  Model model;
  {
    const std::lock_guard lock(turn);
    torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
    model = make_model(config.model);
  }
  if (!config.model.weights.empty())
    load_module(*model.module, config.model.weights);
  model.module->to(device.torch());
  if (config.train.channels_last) to_channels_last(*model.module);
  model.module->train();
  return model;
}

void whiten_stem(const RunConfig& config, const DataSplit& data,
                 const Model& model, Device& device) {
  if (!config.model.whiten || !config.model.weights.empty()) return;
  whiten(
      model,
      first_images(config.data, *data.train, kWhitenImages).to(device.torch()));
}

ResidentSets hold_resident(const RunConfig& config, const DataSplit& data,
                           Device& device) {
  ResidentSets out;
  if (!config.data.resident) return out;
  // What data_parallel scatters is fp32, as planned.
  const bool scattered = config.strategy.kind == StrategyKind::data_parallel;
  ResidentOptions options{
      .device = device.torch(),
      .workers = config.data.workers,
      .data = config.data,
      .augment = true,
      .bf16 = config.train.precision == Precision::bf16 && !scattered,
      .channels_last = config.train.channels_last && !scattered};
  out.train.emplace(*data.train, options);
  options.augment = false;
  if (data.validation && data.validation->size() > 0)
    out.validation.emplace(*data.validation, options);
  return out;
}

std::optional<RunFolder> open_folder(const RunConfig& config,
                                     const RunOptions& options,
                                     const Group& group, Device& device) {
  if (group.rank() != 0) return std::nullopt;
  if (!options.resume)
    return RunFolder::create(options.folder, config, machine_json(device));
  RunFolder folder = RunFolder::open(options.folder);
  folder.write_config(config);
  folder.complete(machine_json(device));
  return folder;
}

double shared_origin(Group& group, double elapsed_s) {
  const double zero_s = agree(group, now_s() - elapsed_s);
  return zero_s - align_clocks(group).offset_s;
}

RunRecord begin_record(const RunConfig& config, const RunOptions& options,
                       const Group& group, const DataSplit& data,
                       const Strategy& strategy) {
  RunRecord record;
  record.command = options.command;
  record.advice = options.advice;
  record.began_utc = utc_now();
  record.backend = group.backend();
  record.versions = versions_json();
  record.config = to_json(config);
  record.data = data.description;
  record.work = work_json(config);
  record.comm = comm_json(strategy.plan());
  if (config.comm.kind == CommKind::emulated)
    record.comm["emulated"] = emulated_json(config.comm);
  return record;
}

void finish_record(RunRecord& record, Ending ending, Session& s) {
  record.status = ending == Ending::done ? "done" : "interrupted";
  record.ended_utc = utc_now();
  record.steps = s.strategy.notes();
  record.steps["parts_timed_every"] = s.recorder.every();
  record.steps["training_s"] = s.training_s;
  record.steps.update(s.rehearsal);
  if (s.folder == nullptr) return;
  const std::filesystem::path& path = s.folder->path();
  const std::vector<StepSample> steps = read_steps(path / "steps.csv");
  record.comm.update(s.strategy.account());
  record.summary =
      summarise(steps, read_epochs(path / "epochs.csv"), s.config.measure);
  put_batch_summary(record.summary, s, steps);
  count_emulated(record.summary, s.config);
  if (s.config.measure.trace)
    write_trace(path / "trace.json", steps, read_comm(path / "comm.csv"));
  if (ending == Ending::done && s.config.train.probabilities &&
      s.data.validation)
    write_probabilities(path / "probabilities.csv", s.config, s.model,
                        *s.data.validation, s.device);
  s.folder->write_record(record);
  if (ending == Ending::done) s.folder->mark_done();
}

void record_failure(RunRecord& record, Session& s,
                    const std::exception& error) noexcept {
  record.status = "failed";
  record.reason = error.what();
  record.ended_utc = utc_now();
  if (s.folder == nullptr) return;
  try {
    s.folder->write_record(record);
  } catch (const Error&) {
    // A full disk takes no record either; "running" without DONE stays.
  }
}

}  // namespace lockstep
