// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/subject.h"

#include <filesystem>

#include "lockstep/config/capture.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/predict/roofline.h"

namespace lockstep {
namespace {

// Folders are not opened here.
std::int64_t epoch_samples(const DataConfig& data) {
  if (data.samples > 0) return data.samples;
  switch (data.kind) {
    case DataKind::digits:
      return kDigitsSamples;
    case DataKind::cifar10:
      return kCifar10Samples;
    case DataKind::synthetic:
      return data.synthetic_samples;
    case DataKind::images:
    case DataKind::text:
      return 0;  // depends on what is in the folder
  }
  return 0;
}

// By one rank or by ddp, whatever the recipe's own strategy is.
bool captured(RunConfig config, std::int64_t ranks) {
  config.strategy.kind = StrategyKind::automatic;
  return settings_against_capture(config, ranks).empty();
}

}  // namespace

Subject subject_of(const RunConfig& config) {
  Subject out;
  out.from_recipe = true;
  out.plan = plan_work(with_own_sizes(config.model));
  out.name = out.plan->model;
  out.precision = config.train.precision;
  out.optim = config.optim;
  out.captured_alone = captured(config, 1);
  out.captured_together = captured(config, 2);
  out.link = config.comm.link;
  Question& q = out.asked;
  q.strategy = config.strategy;
  q.method = method_of(resolved(config.strategy.kind, config.comm.ranks));
  q.ranks = static_cast<int>(config.comm.ranks);
  q.scaling = config.batch.global > 0 ? Scaling::strong : Scaling::weak;
  q.batch =
      config.batch.global > 0 ? config.batch.global : config.batch.per_rank;
  q.accumulate = static_cast<int>(config.batch.accumulate);
  q.epoch_samples = epoch_samples(config.data);
  q.resident = config.data.resident;
  return out;
}

namespace {

Subject from_profile(const std::string& path) {
  Subject out;
  out.profile = load_profile(path);
  out.name = out.profile->model;
  out.precision = out.profile->precision;
  out.asked.batch = out.profile->batches.back();
  return out;
}

Subject from_model(const std::string& name) {
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  const Field& kind = find_field(fields, "model.kind");
  // Published tables' own names for two of ours.
  std::string word = lower(name);
  if (word == "conv") word = "conv1d";
  if (word == "mobilenetv2") word = "mobilenet_v2";
  if (std::ranges::find(kind.words, word) == kind.words.end()) {
    const std::string close = nearest(name, kind.words);
    throw Error(Fault::config, name, "is no recipe, profile or model",
                close.empty() ? "`lockstep summary` lists the models"
                              : "did you mean '" + close + "'?");
  }
  kind.set(Value(word));
  Subject out;
  out.plan = plan_work(with_own_sizes(config.model));
  out.name = out.plan->model;
  return out;
}

}  // namespace

Subject find_subject(const std::string& what) {
  std::error_code ignored;
  const bool file = std::filesystem::is_regular_file(what, ignored);
  if (what.ends_with(".json") || (file && !what.ends_with(".toml")))
    return from_profile(what);
  if (what.ends_with(".toml") || file) return subject_of(load_config(what, {}));
  return from_model(what);
}

Workload workload_on(const Subject& subject, const DeviceSpec& device,
                     const Software& software) {
  if (subject.profile) return make_workload(*subject.profile, false);
  return make_workload(estimate_profile(*subject.plan, device,
                                        {.precision = subject.precision,
                                         .optim = subject.optim,
                                         .software = software}),
                       true);
}

}  // namespace lockstep
