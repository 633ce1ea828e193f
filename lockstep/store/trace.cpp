// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/trace.h"

#include <array>
#include <set>
#include <utility>

#include "lockstep/core/file.h"

namespace lockstep {
namespace {

constexpr int kComputeThread = 0, kCommThread = 1;

// The format counts microseconds.
double us(double seconds) { return seconds * 1e6; }

Json slice(const std::string& name, std::int64_t rank, int thread, double begin,
           double seconds) {
  return Json{{"name", name},          {"ph", "X"},       {"pid", rank},
              {"tid", thread},         {"ts", us(begin)}, {"dur", us(seconds)},
              {"args", Json::object()}};
}

Json label(const char* kind, std::int64_t rank, int thread,
           const std::string& text) {
  return Json{{"name", kind},
              {"ph", "M"},
              {"pid", rank},
              {"tid", thread},
              {"args", {{"name", text}}}};
}

void add_step(Json& events, const StepSample& s) {
  Json whole = slice("step " + std::to_string(s.step), s.rank, kComputeThread,
                     s.begin_s, s.step_s);
  whole["args"] = {{"epoch", s.epoch}, {"samples", s.samples}};
  if (std::isfinite(s.loss)) whole["args"]["loss"] = s.loss;
  events.push_back(std::move(whole));
  const std::array<std::pair<const char*, double>, 7> pieces = {
      {{"data", s.data_s},
       {"copy", s.copy_s},
       {"forward", s.forward_s},
       {"backward", s.backward_s},
       {"exposed communication", s.exposed_comm_s},
       {"update", s.optim_s},
       {"wait", s.wait_s}}};
  double at = s.begin_s;
  for (const auto& [name, seconds] : pieces) {
    if (!(seconds > 0)) continue;
    events.push_back(slice(name, s.rank, kComputeThread, at, seconds));
    at += seconds;
  }
}

void add_message(Json& events, const CommSample& m) {
  Json event = slice(m.op + " " + m.payload, m.rank, kCommThread, m.begin_s,
                     m.end_s - m.begin_s);
  event["args"] = {{"step", m.step},
                   {"bucket", m.bucket},
                   {"bytes", m.bytes},
                   {"issued_us", us(m.issued_s)}};
  events.push_back(std::move(event));
}

}  // namespace

Json trace_of(std::span<const StepSample> steps,
              std::span<const CommSample> messages) {
  Json events = Json::array();
  std::set<std::int64_t> ranks;
  for (const StepSample& s : steps) ranks.insert(s.rank);
  for (const std::int64_t rank : ranks) {
    events.push_back(label("process_name", rank, kComputeThread,
                           "rank " + std::to_string(rank)));
    events.push_back(label("thread_name", rank, kComputeThread, "compute"));
    events.push_back(label("thread_name", rank, kCommThread, "communication"));
  }
  for (const StepSample& s : steps) add_step(events, s);
  for (const CommSample& m : messages) add_message(events, m);
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

void write_trace(const std::filesystem::path& file,
                 std::span<const StepSample> steps,
                 std::span<const CommSample> messages) {
  // No indentation: traces are large and no one reads them as text.
  write_file(file, trace_of(steps, messages).dump() + "\n");
}

}  // namespace lockstep
