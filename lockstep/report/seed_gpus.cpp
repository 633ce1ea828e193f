// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/seed_gpus.h"

#include "lockstep/hardware/hardware_file.h"
#include "lockstep/predict/predict.h"
#include "lockstep/predict/subject.h"

namespace lockstep {

SeedGpus::SeedGpus() : cluster_(find_hardware("4x1080ti").cluster) {}

double SeedGpus::epoch_s(const std::string& model, std::int64_t ranks,
                         std::int64_t global_batch) {
  Question q;
  q.software = find_software("pytorch");
  q.method = ranks > 1 ? Method::data_parallel : Method::single;
  q.ranks = static_cast<int>(ranks);
  q.batch = global_batch, q.scaling = Scaling::strong;
  q.epoch_samples = kSeedClips;
  // PyTorch replicates and reduces by NCCL, which passes on.
  q.strategy.collective = Route::ring;
  auto known = work_.find(model);
  if (known == work_.end())
    known = work_
                .emplace(model, workload_on(find_subject(model),
                                            cluster_.device, q.software))
                .first;
  return predict(known->second, cluster_, q,
                 assumptions_of(known->second, cluster_, q.ranks))
      .epoch_s;
}

}  // namespace lockstep
