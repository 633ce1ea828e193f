// SPDX-License-Identifier: Apache-2.0
// The hardware a rank trains on: memory, time, fused updates. CPU is linked
// in; CUDA is liblockstep_cuda.so, opened when a GPU is asked for.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/kernels/trust.h"
#include "lockstep/measure/time_source.h"

namespace lockstep {

// Neighbouring elements that an update treats alike.
struct UpdateRun {
  std::int64_t begin = 0, numel = 0;
  bool decay = true;   // weight decay applies
  bool zero = true;    // write zeros over the gradients
  bool adapt = false;  // lars, lamb: a tensor whose norm scales its step
  bool operator==(const UpdateRun&) const = default;
};

// One pass over a range of flat parameters. `first` is momentum or Adam's
// mean, `second` Adam's square; undefined where the rule has none.
struct UpdateArgs {
  at::Tensor values, grads, first, second;  // [numel], fp32, same device
  double lr = 0, weight_decay = 0, grad_scale = 1;
  double momentum = 0;                   // sgd, lars
  bool nesterov = false;                 // sgd, lars
  double beta1 = 0, beta2 = 0, eps = 0;  // adam, lamb; lars has an eps
  bool decoupled_decay = false;          // adamw
  TrustRule trust{};                     // lars, lamb
  std::int64_t step = 1;                 // 1 for the first update
  // Write zeros over the gradients. False where the next backward overwrites
  // them anyway (kernels/direct_grad.h).
  bool zero_grads = true;
  // Runs with a decay and a zero of their own; empty: all of it as above.
  std::vector<UpdateRun> runs;
  // [4], fp32: where put_rates() left lr, grad_scale and step, for an update
  // that is captured and so cannot take them from here. Undefined: from here.
  at::Tensor rates;
};

// Work recorded once, handed to the device again as a whole.
class Captured {
 public:
  virtual ~Captured() = default;
  Captured() = default;
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  virtual void replay() = 0;
  // Kernels, copies and fills that a replay hands over together.
  virtual std::int64_t operations() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual c10::Device torch() const = 0;
  // For machine.json: name, memory, cores or multiprocessors, driver.
  virtual Json info() const = 0;
  // Waits until everything handed to the device is done.
  virtual void synchronize() = 0;
  // Seconds of device work; see time_source.h.
  virtual TimeSource time_source() = 0;
  // Since the last reset. CPU: of the whole process; where the system refuses
  // the reset (info() says so), since the process began.
  virtual std::int64_t peak_memory_bytes() = 0;
  virtual void reset_peak_memory() = 0;
  // Whether fp32 products may run as tf32; a CPU has no such mode.
  virtual void allow_tf32(bool allow) = 0;
  // Whether libraries try several kernels for a shape they see for the first
  // time, which takes seconds, or take what they expect to be the fastest.
  virtual void search_kernels(bool search) = 0;
  // State of the generator that dropout and the like draw from.
  virtual at::Tensor random_state() = 0;
  virtual void set_random_state(const at::Tensor& state) = 0;

  virtual void sgd(const UpdateArgs& args) = 0;
  virtual void adam(const UpdateArgs& args) = 0;
  // Each run that adapts is one whole tensor. Norms are sums in double in an
  // order of their own: the same bits every time.
  virtual void lars(const UpdateArgs& args) = 0;
  virtual void lamb(const UpdateArgs& args) = 0;
  // Writes args' lr, grad_scale and step to args.rates, in the stream's order.
  virtual void put_rates(const UpdateArgs& args) = 0;

  // Records what `work` hands to the device instead of running it. Run the same
  // work once before: libraries set themselves up on first use. All captures of
  // a device share memory, so replay them one after the other. Throws
  // Error{Fault::device} that says why when the work cannot be recorded.
  // `work` may cut what it hands over into parts: one ends, the next begins;
  // false when there was nothing to cut off. Any of its threads may.
  using Cut = std::function<bool()>;
  virtual std::vector<std::unique_ptr<Captured>> capture(
      const std::function<void(const Cut&)>& work) = 0;
  // Why capture() would refuse anything; empty when it would not.
  virtual std::string cannot_capture() const = 0;
};

// "cpu", "cuda" or "cuda:N". Throws Error{Fault::device} when it is not there:
// what was asked is what runs.
std::unique_ptr<Device> open_device(const std::string& name);

}  // namespace lockstep
