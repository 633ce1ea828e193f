// SPDX-License-Identifier: Apache-2.0
// One step as a waterfall: which pieces follow each other, which messages lie
// under them, and what of them sticks out.
#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/report/study_document.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

struct StepPiece {
  const char* name;
  double StepSample::*field;
};
// In the order a step does them.
constexpr std::array kStepPieces = {
    StepPiece{"data", &StepSample::data_s},
    StepPiece{"copy", &StepSample::copy_s},
    StepPiece{"forward", &StepSample::forward_s},
    StepPiece{"backward", &StepSample::backward_s},
    StepPiece{"exposed communication", &StepSample::exposed_comm_s},
    StepPiece{"wait for others", &StepSample::wait_s},
    StepPiece{"update", &StepSample::optim_s},
};

bool has_messages(const RunFacts& run) {
  return run.ranks > 1 && run.bus_bytes_per_s > 0 && run.timed();
}

// A run of the answer's point, else any of several ranks.
const RunFacts* run_of(const Study& study,
                       const std::vector<StudyAnswer>& answers) {
  for (const StudyAnswer& answer : answers)
    for (const std::size_t i : study.points[answer.point].runs)
      if (has_messages(study.runs[i])) return &study.runs[i];
  const auto found = std::ranges::find_if(study.runs, has_messages);
  return found == study.runs.end() ? nullptr : &*found;
}

// Of rank 0, the one nearest to the median.
const StepSample* typical(const std::vector<StepSample>& steps, double median) {
  const StepSample* best = nullptr;
  for (const StepSample& s : steps)
    if (s.rank == 0 && std::isfinite(s.step_s) &&
        (!best ||
         std::fabs(s.step_s - median) < std::fabs(best->step_s - median)))
      best = &s;
  return best;
}

Json pieces_of(const StepSample& step) {
  Json out = Json::array();
  double at = 0;
  for (const StepPiece& p : kStepPieces) {
    const double took = step.*p.field;
    if (!(took > 0)) continue;
    out.push_back({{"name", p.name}, {"begin_s", at}, {"end_s", at + took}});
    at += took;
  }
  return out;
}

Json messages_of(const std::vector<CommSample>& messages,
                 const StepSample& step) {
  Json out = Json::array();
  for (const CommSample& m : messages)
    if (m.step == step.step && m.rank == 0)
      out.push_back({{"bucket", m.bucket},
                     {"op", m.op},
                     {"payload", m.payload},
                     {"bytes", m.bytes},
                     {"issued_s", m.issued_s - step.begin_s},
                     {"begin_s", m.begin_s - step.begin_s},
                     {"end_s", m.end_s - step.begin_s}});
  return out;
}

}  // namespace

Json waterfall_of(const Study& study, const std::vector<StudyAnswer>& answers) {
  const RunFacts* run = run_of(study, answers);
  if (!run) return nullptr;
  const std::vector<StepSample> steps = settled_steps(run->path / "steps.csv");
  const StepSample* step = typical(steps, run->step.value);
  if (!step) return nullptr;
  return {{"run", run->name},
          {"model", run->model},
          {"ranks", run->ranks},
          {"per_rank", run->per_rank},
          {"step", step->step},
          {"step_s", step->step_s},
          {"pieces", pieces_of(*step)},
          {"messages", messages_of(read_comm(run->path / "comm.csv"), *step)}};
}

}  // namespace lockstep
