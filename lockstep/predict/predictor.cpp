// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/predictor.h"

namespace lockstep {

Predictor::Predictor(const Subject& subject, const Cluster& cluster,
                     std::optional<Software> software,
                     std::span<const SeenStep> seen)
    : subject_(subject),
      cluster_(cluster),
      software_(std::move(software)),
      seen_(seen) {}

const Software& Predictor::software_for(const Question& q) const {
  if (software_) return *software_;
  const bool may = q.ranks == 1
                       ? subject_.captured_alone
                       : q.method == Method::ddp && subject_.captured_together;
  return find_software(cluster_.device.gpu && may ? "lockstep-graph"
                                                  : "lockstep");
}

const Workload& Predictor::workload(const Software& software) {
  const auto [found, fresh] = workloads_.try_emplace(software.name);
  if (!fresh) return found->second;
  Workload work = workload_on(subject_, cluster_.device, software);
  if (seen_.size() >= 2) work = with_steps(work, seen_);
  return found->second = std::move(work);
}

Prediction Predictor::operator()(Question q) {
  return (*this)(std::move(q), [](Assumptions&) {});
}

Prediction Predictor::operator()(
    Question q, const std::function<void(Assumptions&)>& change) {
  Question one = q;
  one.ranks = 1;
  q.software = software_for(q);
  const Workload& alone = workload(software_for(one));
  const Workload& work = workload(q.software);
  Assumptions assume = assumptions_of(work, cluster_, q.ranks);
  change(assume);
  return predict(work, cluster_, q, assume, &alone);
}

std::vector<Flip> Predictor::flips(const Prediction& p) {
  Question one = p.question;
  one.ranks = 1;
  const Workload& alone = workload(software_for(one));
  const Workload& work = workload(p.question.software);
  const Assumptions assume = assumptions_of(work, cluster_, p.question.ranks);
  return flips_of(work, cluster_, p, assume, &alone);
}

}  // namespace lockstep
