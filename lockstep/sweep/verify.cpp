// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/verify.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

bool has_batchnorm(ModelKind kind) {
  switch (kind) {
    case ModelKind::resnet18:
    case ModelKind::resnet18_224:
    case ModelKind::resnet34:
    case ModelKind::resnet50:
    case ModelKind::mobilenet_v2:
    case ModelKind::quick:
      return true;
    case ModelKind::linear:
    case ModelKind::conv1d:
    case ModelKind::variable:
    case ModelKind::vit_tiny:
    case ModelKind::vit_b_16:
    case ModelKind::gpt:
      return false;
  }
  return false;
}

// What is left when ranks, strategy and their batch share are taken out.
std::string alike(const RunConfig& config) {
  RunConfig same = config;
  same.batch = {.per_rank = 0, .global = global_batch(config)};
  same.comm = {};
  same.strategy = {};
  same.train.threads = 0;
  return to_toml(same);
}

}  // namespace

double first_loss_of(const std::filesystem::path& run) {
  double sum = 0, samples = 0;
  // A rank without samples has no loss: in data_parallel all but device 0.
  for (const StepSample& s : read_steps(run / "steps.csv"))
    if (s.step == 0 && s.samples > 0) {
      sum += s.loss * static_cast<double>(s.samples);
      samples += static_cast<double>(s.samples);
    }
  return samples > 0 ? sum / samples : std::nan("");
}

std::vector<Verified> verify(std::span<const FirstLoss> losses) {
  std::map<std::string, const FirstLoss*> alone;
  for (const FirstLoss& l : losses)
    if (l.point->config.comm.ranks == 1) alone[alike(l.point->config)] = &l;
  std::vector<Verified> out;
  for (const FirstLoss& l : losses) {
    const RunConfig& c = l.point->config;
    if (c.comm.ranks == 1 || c.comm.kind == CommKind::emulated ||
        has_batchnorm(c.model.kind))
      continue;
    const auto found = alone.find(alike(c));
    if (found == alone.end()) continue;
    const double reference = found->second->loss;
    out.push_back({.point = l.point->id,
                   .against = found->second->point->id,
                   .loss = l.loss,
                   .reference = reference,
                   .agrees = std::abs(l.loss - reference) <=
                             kLossTolerance * std::abs(reference)});
  }
  return out;
}

}  // namespace lockstep
