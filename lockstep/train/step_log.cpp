// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/step_log.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "lockstep/comm/gather_rows.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr std::array kOps = {Collective::all_reduce,     Collective::reduce,
                             Collective::reduce_scatter, Collective::all_gather,
                             Collective::broadcast,      Collective::gather,
                             Collective::scatter,        Collective::barrier};
constexpr std::array kPayloads = {Payload::gradients, Payload::parameters,
                                  Payload::buffers,   Payload::norm_statistics,
                                  Payload::inputs,    Payload::outputs,
                                  Payload::control};

// A CommSample without text, to travel.
struct CommRow {
  std::int64_t step = 0, rank = 0, bucket = 0, op = 0, payload = 0, bytes = 0;
  double issued_s = 0, begin_s = 0, end_s = 0, bus_bytes_per_s = 0;
};

template <class Words>
std::int64_t number_of(const Words& words, const std::string& text) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word(words[i]) == text) return static_cast<std::int64_t>(i);
  check(false, "a message's operation and payload have words");
  return 0;
}

CommRow to_row(const CommSample& m) {
  return {m.step,
          m.rank,
          m.bucket,
          number_of(kOps, m.op),
          number_of(kPayloads, m.payload),
          m.bytes,
          m.issued_s,
          m.begin_s,
          m.end_s,
          m.bus_bytes_per_s};
}

CommSample from_row(const CommRow& r) {
  return {.step = r.step,
          .rank = r.rank,
          .bucket = r.bucket,
          .op = std::string(word(kOps.at(static_cast<std::size_t>(r.op)))),
          .payload = std::string(
              word(kPayloads.at(static_cast<std::size_t>(r.payload)))),
          .bytes = r.bytes,
          .issued_s = r.issued_s,
          .begin_s = r.begin_s,
          .end_s = r.end_s,
          .bus_bytes_per_s = r.bus_bytes_per_s};
}

template <class Row>
void sort_by_step(std::vector<Row>& rows) {
  std::ranges::stable_sort(
      rows, {}, [](const Row& row) { return std::tuple(row.step, row.rank); });
}

}  // namespace

StepLog::StepLog(std::int64_t steps, c10::Device device)
    : losses_(at::zeros({steps}, at::kFloat).to(device)),
      correct_(at::zeros({steps}, at::kLong).to(device)) {}

void StepLog::add(const StepOutcome& outcome, std::int64_t samples,
                  std::int64_t predictions) {
  const at::NoGradGuard no_grad;
  const auto at = static_cast<std::int64_t>(results_.size());
  if (samples > 0) {
    losses_[at].copy_(outcome.loss_sum / static_cast<double>(samples));
    correct_[at].copy_(outcome.correct);
  }
  results_.push_back({std::nan(""), samples, predictions, 0});
}

std::vector<StepResult> StepLog::drain() {
  const at::Tensor losses = losses_.cpu(), correct = correct_.cpu();
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].samples == 0) continue;
    results_[i].loss = losses.const_data_ptr<float>()[i];
    results_[i].correct = correct.const_data_ptr<std::int64_t>()[i];
    if (results_[i].correct < 0)
      throw Error(Fault::data, "data", "a target is no class of the model",
                  "targets count from 0 to one below model.classes, tokens to "
                  "one below model.vocab");
  }
  return std::exchange(results_, {});
}

void add_up(EpochTotals& totals, const std::vector<StepResult>& mine,
            Group& group) {
  const std::vector<StepResult> all =
      gather_rows<StepResult>(group, std::span(mine));
  const std::size_t steps = mine.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Rank by rank they came, step by step they are added.
    const std::size_t ranks = all.size() / steps;
    const StepResult& r = all[i % ranks * steps + i / ranks];
    if (r.samples > 0)
      totals.loss_sum += r.loss * static_cast<double>(r.samples);
    totals.samples += r.samples;
    totals.predictions += r.predictions;
    totals.correct += r.correct;
  }
}

Recorder::Samples gather_samples(Group& group, const Recorder::Samples& mine) {
  if (group.size() == 1) return mine;
  std::vector<CommRow> rows;
  for (const CommSample& m : mine.messages) rows.push_back(to_row(m));
  Recorder::Samples out;
  out.steps = gather_rows<StepSample>(group, std::span(mine.steps));
  sort_by_step(out.steps);
  for (const CommRow& row :
       gather_rows<CommRow>(group, std::span(std::as_const(rows))))
    out.messages.push_back(from_row(row));
  sort_by_step(out.messages);
  return out;
}

}  // namespace lockstep
