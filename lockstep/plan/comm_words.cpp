// SPDX-License-Identifier: Apache-2.0
// Words, sizes and bus factors of the plan's enumerations.
#include "lockstep/core/error.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

std::string_view word(Collective op) {
  switch (op) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce:
      return "reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_gather:
      return "all_gather";
    case Collective::broadcast:
      return "broadcast";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::barrier:
      return "barrier";
  }
  check(false, "every collective has a word");
  return {};
}

std::string_view word(Payload payload) {
  switch (payload) {
    case Payload::gradients:
      return "gradients";
    case Payload::parameters:
      return "parameters";
    case Payload::buffers:
      return "buffers";
    case Payload::norm_statistics:
      return "norm_statistics";
    case Payload::inputs:
      return "inputs";
    case Payload::outputs:
      return "outputs";
    case Payload::control:
      return "control";
  }
  check(false, "every payload has a word");
  return {};
}

std::string_view word(Phase phase) {
  switch (phase) {
    case Phase::before_forward:
      return "before_forward";
    case Phase::forward:
      return "forward";
    case Phase::after_forward:
      return "after_forward";
    case Phase::backward:
      return "backward";
    case Phase::after_backward:
      return "after_backward";
    case Phase::after_update:
      return "after_update";
  }
  check(false, "every phase has a word");
  return {};
}

std::string_view word(WireType type) {
  switch (type) {
    case WireType::fp32:
      return "fp32";
    case WireType::fp16:
      return "fp16";
    case WireType::bf16:
      return "bf16";
    case WireType::int64:
      return "int64";
  }
  check(false, "every wire type has a word");
  return {};
}

std::int64_t bytes_of(WireType type) {
  switch (type) {
    case WireType::fp32:
      return 4;
    case WireType::fp16:
    case WireType::bf16:
      return 2;
    case WireType::int64:
      return 8;
  }
  check(false, "every wire type has a size");
  return 0;
}

double bus_factor(Collective op, std::int64_t ranks) {
  if (ranks <= 1) return 0;
  const double n = static_cast<double>(ranks);
  switch (op) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::scatter:
    case Collective::gather:
      return (n - 1) / n;
    case Collective::reduce:
    case Collective::broadcast:
      return 1;
    case Collective::barrier:
      return 0;
  }
  check(false, "every collective has a bus factor");
  return 0;
}

}  // namespace lockstep
