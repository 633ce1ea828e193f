// SPDX-License-Identifier: Apache-2.0
// A subject on one cluster, for many questions: each is answered with the
// software that would carry it out, and speed-ups are over what one rank would
// run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/predict.h"
#include "lockstep/predict/subject.h"

namespace lockstep {

class Predictor {
 public:
  // `software` none: Lockstep's own, recorded where the trainer would record
  // it. `seen`: steps one device was seen to take, at two or more batch sizes.
  Predictor(const Subject& subject, const Cluster& cluster,
            std::optional<Software> software = {},
            std::span<const SeenStep> seen = {});

  Prediction operator()(Question question);
  // With some assumptions changed.
  Prediction operator()(Question question,
                        const std::function<void(Assumptions&)>& change);
  std::vector<Flip> flips(const Prediction& prediction);

 private:
  const Software& software_for(const Question& question) const;
  const Workload& workload(const Software& software);

  const Subject& subject_;
  const Cluster& cluster_;
  std::optional<Software> software_;
  std::span<const SeenStep> seen_;
  std::map<std::string, Workload> workloads_;  // by software
};

}  // namespace lockstep
