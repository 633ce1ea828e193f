// SPDX-License-Identifier: Apache-2.0
#include "lockstep/device/cpu_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <sched.h>
#include <torch/version.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/kernels/isa.h"
#include "lockstep/kernels/update.h"

namespace lockstep {
namespace {

// The text after "key :" in one of the kernel's tables, or empty.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

// The cores this process may run on, which a container may have limited.
int num_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  check(sched_getaffinity(0, sizeof cores, &cores) == 0,
        "cores can be counted");
  return CPU_COUNT(&cores);
}

// Linux forgets the highest resident size of a process when "5" is written
// here; some containers do not allow it.
bool forget_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

UpdateSpan span_of(const UpdateArgs& args, const UpdateRun& run) {
  const auto data = [&](const at::Tensor& t) {
    return t.defined() ? t.data_ptr<float>() + run.begin : nullptr;
  };
  return {data(args.values), data(args.grads), data(args.first),
          data(args.second), run.numel};
}

std::vector<UpdateRun> runs_of(const UpdateArgs& args) {
  if (!args.runs.empty()) return args.runs;
  return {{.begin = 0, .numel = args.values.numel(), .zero = args.zero_grads}};
}

double decay_of(const UpdateArgs& args, const UpdateRun& run) {
  return run.decay ? args.weight_decay : 0;
}

SgdRule sgd_rule(const UpdateArgs& args, const UpdateRun& run) {
  return {.lr = static_cast<float>(args.lr),
          .weight_decay = static_cast<float>(decay_of(args, run)),
          .momentum = static_cast<float>(args.momentum),
          .grad_scale = static_cast<float>(args.grad_scale),
          .nesterov = args.nesterov,
          .zero_grads = run.zero};
}

// What a moment that began at zero lacks of its full size after these steps.
double bias_of(double beta, const UpdateArgs& args) {
  return 1 - std::pow(beta, static_cast<double>(args.step));
}

AdamRule adam_rule(const UpdateArgs& args, const UpdateRun& run) {
  const double bias1 = bias_of(args.beta1, args);
  const double bias2 = bias_of(args.beta2, args);
  const double decay = decay_of(args, run);
  return {.step_size = static_cast<float>(args.lr / bias1),
          .inverse_root_bias = static_cast<float>(1 / std::sqrt(bias2)),
          .take1 = static_cast<float>(1 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .take2 = static_cast<float>(1 - args.beta2),
          .eps = static_cast<float>(args.eps),
          .grad_scale = static_cast<float>(args.grad_scale),
          .keep = static_cast<float>(args.decoupled_decay ? 1 - args.lr * decay
                                                          : 1.0),
          .weight_decay = static_cast<float>(args.decoupled_decay ? 0 : decay),
          .zero_grads = run.zero};
}

// What LARS adds to SGD is one factor of gradient and decay. The learning rate
// stays outside of the momentum, so a change of it needs no correction.
void lars_run(const UpdateArgs& args, const UpdateRun& run) {
  const UpdateSpan span = span_of(args, run);
  const double decay = decay_of(args, run);
  double trust = 1;
  if (run.adapt)
    trust = lars_trust(
        args.trust,
        {.values = norm_of(span.values, span.numel),
         .gradient = norm_of(span.grads, span.numel) * args.grad_scale,
         .weight_decay = decay,
         .eps = args.eps,
         .lr = args.lr});
  SgdRule rule = sgd_rule(args, run);
  rule.weight_decay = static_cast<float>(trust * decay);
  rule.grad_scale = static_cast<float>(trust * args.grad_scale);
  sgd_update(span, rule);
}

LambRule lamb_rule(const UpdateArgs& args, const UpdateRun& run) {
  const double root2 = std::sqrt(bias_of(args.beta2, args));
  return {.inverse_bias1 = static_cast<float>(1 / bias_of(args.beta1, args)),
          .inverse_root_bias = static_cast<float>(1 / root2),
          .take1 = static_cast<float>(1 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .take2 = static_cast<float>(1 - args.beta2),
          .eps = static_cast<float>(args.eps),
          .grad_scale = static_cast<float>(args.grad_scale),
          .weight_decay = static_cast<float>(decay_of(args, run)),
          .zero_grads = run.zero};
}

void lamb_run(const UpdateArgs& args, const UpdateRun& run) {
  const UpdateSpan span = span_of(args, run);
  const LambRule rule = lamb_rule(args, run);
  const double length = lamb_moments(span, rule);
  double trust = 1;
  if (run.adapt)
    trust = lamb_trust(args.trust, norm_of(span.values, span.numel), length);
  lamb_apply(span, rule, args.lr * trust);
}

class CpuDevice final : public Device {
 public:
  c10::Device torch() const override { return c10::kCPU; }

  Json info() const override {
    const auto pages = sysconf(_SC_PHYS_PAGES);
    return {{"kind", "cpu"},
            {"name", value_in("/proc/cpuinfo", "model name")},
            {"cores", num_cores()},
            {"memory_bytes", pages * sysconf(_SC_PAGE_SIZE)},
            {"instructions", isa_name(best_isa())},
            {"peak_memory_resets", peak_memory_resets_},
            {"torch", TORCH_VERSION}};
  }

  void synchronize() override {}

  // Work is done when the call returns, so a mark is the time itself.
  TimeSource time_source() override {
    const auto marks = std::make_shared<std::vector<double>>();
    return {.mark =
                [marks] {
                  marks->push_back(now_s());
                  return static_cast<std::int64_t>(marks->size()) - 1;
                },
            .seconds =
                [marks](std::int64_t mark) {
                  return marks->at(static_cast<std::size_t>(mark));
                },
            .forget = [marks] { marks->clear(); }};
  }

  std::int64_t peak_memory_bytes() override {
    return std::stoll(value_in("/proc/self/status", "VmHWM")) * 1024;
  }

  void reset_peak_memory() override {
    peak_memory_resets_ = forget_peak_memory();
  }

  void allow_tf32(bool) override {}
  void search_kernels(bool) override {}

  at::Tensor random_state() override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    return generator.get_state();
  }

  void set_random_state(const at::Tensor& state) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(state);
  }

  void sgd(const UpdateArgs& args) override {
    for (const UpdateRun& run : runs_of(args))
      sgd_update(span_of(args, run), sgd_rule(args, run));
  }

  void adam(const UpdateArgs& args) override {
    for (const UpdateRun& run : runs_of(args))
      adam_update(span_of(args, run), adam_rule(args, run));
  }

  void lars(const UpdateArgs& args) override {
    for (const UpdateRun& run : runs_of(args)) lars_run(args, run);
  }

  void lamb(const UpdateArgs& args) override {
    for (const UpdateRun& run : runs_of(args)) lamb_run(args, run);
  }

  void put_rates(const UpdateArgs&) override {
    check(false, "rates are left on a device that captures");
  }
  std::vector<std::unique_ptr<Captured>> capture(
      const std::function<void(const Cut&)>&) override {
    throw Error(Fault::device, "cpu", cannot_capture());
  }
  std::string cannot_capture() const override {
    return "a CPU runs what it is given at once: there is nothing to capture";
  }

 private:
  bool peak_memory_resets_ = forget_peak_memory();
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace lockstep
