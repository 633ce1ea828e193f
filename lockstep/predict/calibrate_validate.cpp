// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/calibrate_validate.h"

#include <algorithm>
#include <set>

#include "lockstep/config/data.h"

namespace lockstep {
namespace {

using Part = std::pair<std::string, int>;  // model, GPUs

Part part_of(const EpochRun& run) { return {run.model, run.gpus}; }

constexpr double kResnet18Bytes = 4.0 * 11'173'962;

EpochRun resnet18(int gpus, double batch, double epoch_s) {
  return {.model = "resnet18",
          .param_bytes = kResnet18Bytes,
          .gpus = gpus,
          .batch = batch,
          .epoch_s = epoch_s};
}

}  // namespace

std::vector<HeldBackEpoch> hold_back_gpus(std::span<const EpochRun> runs,
                                          double epoch_samples) {
  std::set<Part> parts;
  for (const EpochRun& run : runs)
    if (run.gpus > 1) parts.insert(part_of(run));
  std::vector<HeldBackEpoch> out;
  for (const Part& part : parts) {
    std::vector<EpochRun> kept;
    for (const EpochRun& run : runs)
      if (part_of(run) != part) kept.push_back(run);
    const bool known = std::ranges::any_of(
        kept, [&](const EpochRun& run) { return run.model == part.first; });
    if (!known) continue;
    const SystemFit system = calibrate(kept, epoch_samples);
    for (const EpochRun& run : runs)
      if (part_of(run) == part) out.push_back({run, forecast(system, run)});
  }
  return out;
}

std::vector<HeldBackEpoch> strong_from_weak() {
  const std::vector<EpochRun> weak = {
      resnet18(1, 32, 271.984),      resnet18(1, 128, 229.739),
      resnet18(1, 512, 211.854),     resnet18(2, 2 * 32, 153.240),
      resnet18(2, 2 * 128, 125.222), resnet18(2, 2 * 512, 116.669),
      resnet18(4, 4 * 32, 79.637),   resnet18(4, 4 * 128, 63.705),
      resnet18(4, 4 * 512, 58.438)};
  const SystemFit system = calibrate(weak, kCifar10Samples);
  std::vector<HeldBackEpoch> out;
  for (const EpochRun& run :
       {resnet18(2, 32, 274.355), resnet18(4, 32, 241.768)})
    out.push_back({run, forecast(system, run)});
  return out;
}

}  // namespace lockstep
