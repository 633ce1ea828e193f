// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/timeline.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

// Inverse of the normal distribution function (Acklam's rational
// approximation, relative error below 1.2e-9).
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                          -2.759285104469687e+02, 1.383577518672690e+02,
                          -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                          -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                          -2.400758277161838e+00, -2.549732539343734e+00,
                          4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
                          2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  if (p > 1 - kTail) {
    const double q = std::sqrt(-2 * std::log(1 - p));
    return -(((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q +
             c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  if (p < kTail) return -normal_quantile(1 - p);
  const double q = p - 0.5, r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) *
         q / (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

// The backward pass that messages leave from.
struct Overlap {
  double compute_end_s = 0, comm_end_s = 0, last_latency_s = 0, comm_s = 0;
};

class Clock {
 public:
  explicit Clock(double slowdown) : slow_(1 + slowdown) {}

  // Runs compute up to `progress` seconds of its own work; slower while the
  // link is busy.
  void compute_to(double progress) {
    const double need = std::max(progress - done_s_, 0.0);
    const double busy = std::max(link_free_s_ - now_s_, 0.0);
    now_s_ +=
        need * slow_ <= busy ? need * slow_ : busy + (need - busy / slow_);
    done_s_ = std::max(done_s_, progress);
  }
  void send(double seconds) {
    link_free_s_ = std::max(now_s_, link_free_s_) + seconds;
  }
  double now_s() const { return now_s_; }
  double link_free_s() const { return link_free_s_; }

 private:
  double slow_, now_s_ = 0, done_s_ = 0, link_free_s_ = 0;
};

Overlap overlap_of(const StepPlan& plan, const Assumptions& a) {
  Clock clock(a.contention);
  Overlap out;
  for (const TimedMessage& m : plan.overlapped) {
    clock.compute_to(m.ready_s * a.compute);
    const double latency = m.latency_s * a.link.latency;
    const double seconds = latency + m.transfer_s / a.link.bandwidth;
    clock.send(seconds);
    out.comm_s += seconds;
    out.last_latency_s = latency;
  }
  clock.compute_to(plan.backward_s * a.compute);
  out.compute_end_s = clock.now_s();
  out.comm_end_s = std::max(clock.link_free_s(), clock.now_s());
  return out;
}

}  // namespace

double expected_max_normal(double n) {
  return n <= 1 ? 0 : normal_quantile((n - 0.375) / (n + 0.25));
}

StepParts simulate(const StepPlan& plan, const Assumptions& a) {
  const Overlap overlap = overlap_of(plan, a);
  StepParts out;
  const double backward_s = plan.backward_s * a.compute;
  out.compute_s = plan.passes * (plan.forward_s * a.compute + backward_s) +
                  plan.optimizer_s * a.compute + plan.overhead_s * a.host;
  const double serial_latency = plan.serial_latency_s * a.link.latency;
  const double serial =
      serial_latency + plan.serial_transfer_s / a.link.bandwidth;
  // The last pass ends when both its compute and its messages do.
  const double tail = overlap.comm_end_s - overlap.compute_end_s;
  const double slowed = overlap.compute_end_s - backward_s;
  out.exposed_comm_s = serial + tail + slowed;
  out.comm_s = serial + overlap.comm_s;
  out.latency_s = serial_latency + std::min(tail, overlap.last_latency_s);
  // Ranks that wait for each other every so many steps wait for the sum of
  // those: its spread grows with the root only.
  const double worst = expected_max_normal(plan.ranks) /
                       std::sqrt(std::max(plan.sync_every, 1.0));
  out.idle_s = worst * a.jitter * out.compute_s + plan.bubble_s * a.compute;
  out.step_s = out.compute_s + out.exposed_comm_s + out.idle_s;
  const double input_s = plan.input_s / a.input;
  out.input_wait_s = std::max(0.0, input_s - out.step_s);
  out.step_s += out.input_wait_s;
  return out;
}

}  // namespace lockstep
