// SPDX-License-Identifier: Apache-2.0
#include "lockstep/measure/recorder.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// A step in pieces costs a GPU about 15 us, measured (results/h200): of the
// shortest steps there are, 0.2 ms, this leaves 2 %, of others a tenth of one.
constexpr std::int64_t kStreamEvery = 10;

void add(double& total, double seconds) {
  total = std::isnan(total) ? seconds : total + seconds;
}

void add_piece(StepSample& s, Span span, double seconds) {
  switch (span) {
    case Span::data:
      return add(s.data_s, seconds);
    case Span::copy:
      return add(s.copy_s, seconds);
    case Span::forward:
      return add(s.forward_s, seconds);
    case Span::backward:
      return add(s.backward_s, seconds);
    case Span::exposed_comm:
      return;  // divided in resolve(), as some of data_parallel's are
    case Span::optim:
      return add(s.optim_s, seconds);
    case Span::wait:
      return add(s.wait_s, seconds);
    case Span::dp_forward:
    case Span::dp_loss:
      add(s.forward_s, seconds);
      break;
    case Span::dp_backward:
      add(s.backward_s, seconds);
      break;
    case Span::dp_scatter:
    case Span::dp_replicate:
    case Span::dp_gather:
    case Span::dp_loss_scatter:
    case Span::dp_reduce:
      break;
  }
  const auto at = static_cast<std::size_t>(span) -
                  static_cast<std::size_t>(Span::dp_scatter);
  add(s.dp_s[at], seconds);
}

// Pieces in which a rank does nothing but wait for messages: while one moves it
// is exposed communication, else another rank is late.
bool waits(Span span) {
  switch (span) {
    case Span::exposed_comm:
    case Span::dp_scatter:
    case Span::dp_replicate:
    case Span::dp_gather:
    case Span::dp_loss_scatter:
    case Span::dp_reduce:
      return true;
    default:
      return false;
  }
}

// A step whose pieces were not timed has its whole time and nothing else.
void forget_pieces(StepSample& s) {
  s.data_s = s.copy_s = s.forward_s = s.backward_s = s.comm_s =
      s.exposed_comm_s = s.optim_s = s.wait_s = std::nan("");
}

// The part of [begin, end] that intervals cover.
double covered_s(const std::vector<std::pair<double, double>>& intervals,
                 double begin, double end) {
  std::vector<std::pair<double, double>> inside;
  for (const auto& [b, e] : intervals)
    if (b < end && e > begin)
      inside.emplace_back(std::max(b, begin), std::min(e, end));
  return union_s(std::move(inside));
}

}  // namespace

double union_s(std::vector<std::pair<double, double>> intervals) {
  std::ranges::sort(intervals);
  double covered = 0, until = -INFINITY;
  for (const auto& [begin, end] : intervals) {
    covered += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return covered;
}

Recorder::Recorder(std::int64_t rank, TimeSource source,
                   RecorderOptions options)
    : rank_(rank), source_(std::move(source)), options_(options) {
  if (options_.every == 0)
    options_.every = source_.in_stream ? kStreamEvery : 1;
}

void Recorder::begin_step(std::int64_t step, std::int64_t epoch) {
  if (!options_.record) return;
  const bool follows = source_.in_stream && !steps_.empty();
  const std::int64_t begin = follows ? steps_.back().end_mark : source_.mark();
  Step& s = steps_.emplace_back();
  s.sample.step = step, s.sample.epoch = epoch, s.sample.rank = rank_;
  s.timed = step % options_.every == 0;
  s.first_piece = pieces_.size();
  s.begin_mark = begin;
}

void Recorder::cut(Span span) {
  if (steps_.empty() || !steps_.back().timed) return;
  pieces_.push_back({span, source_.mark()});
  ++steps_.back().num_pieces;
}

void Recorder::end_step(std::int64_t samples) {
  if (!options_.record) return;
  Step& s = steps_.back();
  s.sample.samples = samples;
  // The last cut is where the step ended, unless nothing was cut.
  s.end_mark = s.num_pieces > 0 ? pieces_.back().mark : source_.mark();
}

void Recorder::message(CommSample sample, Fill fill) {
  if (!options_.record || steps_.empty()) return;
  sample.step = steps_.back().sample.step;
  sample.rank = rank_;
  messages_.push_back(std::move(sample));
  fills_.push_back(std::move(fill));
}

StepSample Recorder::resolve(const Step& step,
                             const Intervals& messages) const {
  StepSample s = step.sample;
  const double begin = source_.seconds(step.begin_mark);
  s.begin_s = begin - origin_s_;
  s.step_s = source_.seconds(step.end_mark) - begin;
  double last = begin;
  for (std::size_t i = 0; i < step.num_pieces; ++i) {
    const Piece& piece = pieces_[step.first_piece + i];
    const double end = source_.seconds(piece.mark);
    if (waits(piece.span)) {
      const double moving = covered_s(messages, last, end);
      add(s.exposed_comm_s, moving);
      add(s.wait_s, end - last - moving);
    }
    add_piece(s, piece.span, end - last);
    last = end;
  }
  if (!step.timed) forget_pieces(s);
  return s;
}

Recorder::Samples Recorder::collect(std::span<const double> losses) {
  Samples out;
  if (!options_.record) return out;
  check(losses.size() == steps_.size(), "a loss for every recorded step");
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Intervals moving;
    for (; next < messages_.size() &&
           messages_[next].step == steps_[i].sample.step;
         ++next) {
      CommSample& m = messages_[next];
      if (fills_[next]) fills_[next](m);
      moving.emplace_back(m.begin_s, m.end_s);
      m.issued_s -= origin_s_, m.begin_s -= origin_s_, m.end_s -= origin_s_;
    }
    StepSample s = resolve(steps_[i], moving);
    s.loss = losses[i];
    if (steps_[i].timed) s.comm_s = union_s(std::move(moving));
    out.steps.push_back(s);
  }
  out.messages = std::move(messages_);
  steps_.clear(), pieces_.clear(), messages_.clear(), fills_.clear();
  source_.forget();
  return out;
}

}  // namespace lockstep
