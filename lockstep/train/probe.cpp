// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/probe.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

#include "lockstep/comm/agree.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/median.h"

namespace lockstep {
namespace {

// Between two probes of one machine.
constexpr double kProbeSpread = 0.15;

constexpr double kEach_s = 0.25;  // time spent on a figure
constexpr int kLeastTimes = 5, kMostTimes = 1000;

constexpr std::int64_t kCpuSide = 1024, kGpuSide = 8192;  // of a matrix
constexpr std::int64_t kCpuCopy = 64 << 20, kGpuCopy = 1 << 30,
                       kPairCopy = 256 << 20;  // bytes
constexpr int kTiny = 100;   // smallest operations timed together
constexpr int kCopies = 20;  // timed between two GPUs

constexpr double kFirst_bytes = 1024, kLast_bytes = 64 << 20;
constexpr double kBytesEach = 128e6;  // sent for a point of a curve
constexpr double kPoint_s = 0.5;      // and so long at the most
// A message that a core's cache holds was just written there; a larger one
// comes from memory, so each of that size is sent from another place.
constexpr double kCached_bytes = 1 << 20;
constexpr std::int64_t kPool_bytes = 128 << 20;
// From here on a larger message only takes longer: its bandwidth is known.
constexpr double kSlow_s = 0.1;

// Messages beside computation: the size of one, rounds, a product's side, and
// the least share of a message that counts as hidden.
constexpr std::int64_t kBeside_bytes = 8 << 20, kBesideSide = 256;
constexpr int kBesideRounds = 7;
constexpr double kLeastHidden = 0.01;

// Seconds of one call, the median of as many as fit.
double time_of(Device& device, const std::function<void()>& work) {
  for (int i = 0; i < 2; ++i) work();
  device.synchronize();
  std::vector<double> times;
  const double until = now_s() + kEach_s;
  while (std::ssize(times) < kLeastTimes ||
         (now_s() < until && std::ssize(times) < kMostTimes)) {
    const double begin = now_s();
    work();
    device.synchronize();
    times.push_back(now_s() - begin);
  }
  return median(times);
}

double gemm_flops(Device& device, at::ScalarType type) {
  const bool cpu = device.torch().is_cpu();
  const std::int64_t n = cpu ? kCpuSide : kGpuSide;
  const auto options = at::TensorOptions().dtype(type).device(device.torch());
  const at::Tensor a = at::ones({n, n}, options), b = at::ones({n, n}, options);
  at::Tensor c = at::empty({n, n}, options);
  const double seconds = time_of(device, [&] { at::mm_out(c, a, b); });
  return 2.0 * static_cast<double>(n * n * n) / seconds;
}

// Read once and written once.
double copy_bytes_per_s(Device& device) {
  const bool cpu = device.torch().is_cpu();
  const std::int64_t bytes = cpu ? kCpuCopy : kGpuCopy;
  const auto options =
      at::TensorOptions().dtype(at::kByte).device(device.torch());
  const at::Tensor from = at::ones({bytes}, options);
  at::Tensor to = at::zeros({bytes}, options);
  return 2.0 * static_cast<double>(bytes) /
         time_of(device, [&] { to.copy_(from); });
}

double host_bytes_per_s(Device& device) {
  const std::int64_t bytes = kCpuCopy;
  const at::Tensor from =
      at::ones({bytes}, at::TensorOptions().dtype(at::kByte)).pin_memory();
  at::Tensor to = at::zeros(
      {bytes}, at::TensorOptions().dtype(at::kByte).device(device.torch()));
  return static_cast<double>(bytes) /
         time_of(device, [&] { to.copy_(from, /*non_blocking=*/true); });
}

double launch_s(Device& device) {
  at::Tensor one = at::zeros({1}, at::TensorOptions().device(device.torch()));
  return time_of(device,
                 [&] {
                   for (int i = 0; i < kTiny; ++i) one.add_(1);
                 }) /
         kTiny;
}

// Seconds of a copy from one GPU to another.
double copy_s(const DevicePair& pair, std::int64_t bytes) {
  const auto on = [&](int index) {
    return at::TensorOptions().dtype(at::kByte).device(
        at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
  };
  const at::Tensor from = at::ones({bytes}, on(pair.a));
  at::Tensor to = at::zeros({bytes}, on(pair.b));
  const c10::impl::VirtualGuardImpl gpus(c10::kCUDA);
  std::vector<double> times;
  for (int i = 0; i < 2 + kCopies; ++i) {
    const double begin = now_s();
    to.copy_(from, /*non_blocking=*/true);
    for (const at::Tensor& t : {from, to})
      gpus.synchronizeDevice(t.device().index());
    if (i >= 2) times.push_back(now_s() - begin);
  }
  return median(times);
}

// Rank 0's view; it is what every rank is told.
double transfer_s(Group& group, const std::vector<Call>& calls, int most) {
  std::size_t sent = 0;
  const auto once = [&] {
    const TransferHandle handle = group.start(calls[sent++ % calls.size()]);
    group.wait(handle);
    const TransferTimes t = group.times(handle);
    return t.end_s - t.begin_s;
  };
  once();
  const double first_s = std::max(1e-9, agree(group, once()));
  const int count =
      static_cast<int>(std::clamp(kPoint_s / first_s, 3.0, double(most)));
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(once());
  return std::max(1e-9, agree(group, median(times)));
}

// The call that a curve of `op` is measured with: `whole` is the vector.
Call call_of(Collective op, const Group& group, const at::Tensor& whole) {
  Call call{.op = op, .tensor = whole};
  const std::int64_t numel = whole.numel(), ranks = group.size();
  std::int64_t begin = 0;
  for (int r = 0; r < group.rank(); ++r) begin += share_of(numel, ranks, r);
  const at::Tensor share =
      whole.narrow(0, begin, share_of(numel, ranks, group.rank()));
  if (op == Collective::all_gather) call.input = share;
  if (op == Collective::reduce_scatter) call.input = whole, call.tensor = share;
  return call;
}

// So many places of the pool as a point of a curve sends from.
std::vector<Call> calls_of(Collective op, const Group& group,
                           const at::Tensor& pool, double bytes) {
  const auto numel = static_cast<std::int64_t>(bytes / 4);
  const std::int64_t places =
      bytes > kCached_bytes ? pool.numel() / numel : std::int64_t{1};
  std::vector<Call> out;
  for (std::int64_t i = 0; i < places; ++i)
    out.push_back(call_of(op, group, pool.narrow(0, i * numel, numel)));
  return out;
}

// Wall time of `work`, which all ranks begin together.
double together_s(Group& group, const std::function<void()>& work) {
  group.run({.op = Collective::barrier});
  const double begin = now_s();
  work();
  return now_s() - begin;
}

}  // namespace

DeviceSpec probe_device(Device& device) {
  const Json info = device.info();
  DeviceSpec out;
  out.name = info.value("name", std::string("device"));
  out.memory_bytes = info.value("memory_bytes", std::int64_t{0});
  out.fp32_flops = gemm_flops(device, at::kFloat);
  out.half_flops = gemm_flops(device, at::kBFloat16);
  out.memory_bytes_per_s = copy_bytes_per_s(device);
  out.kernel_floor_s = launch_s(device);
  out.source = "lockstep probe, " + utc_now();
  if (device.torch().is_cpu()) {
    out.host_bytes_per_s = out.memory_bytes_per_s / 2;
    return out;
  }
  device.allow_tf32(true);
  out.tf32_flops = gemm_flops(device, at::kFloat);
  device.allow_tf32(false);
  out.host_bytes_per_s = host_bytes_per_s(device);
  return out;
}

double probe_contention(Group& group) {
  const Call call{.op = Collective::all_reduce,
                  .tensor = at::zeros({kBeside_bytes / 4})};
  const at::Tensor a = at::ones({kBesideSide, kBesideSide});
  at::Tensor product = at::empty_like(a);
  const auto send = [&] { group.run(call); };
  const auto multiply = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) at::mm_out(product, a, a);
  };
  for (int i = 0; i < 2; ++i) send(), multiply(2);
  const double once_s = together_s(group, [&] { multiply(10); }) / 10;
  const std::int64_t times = agree(
      group, static_cast<std::int64_t>(2 * together_s(group, send) / once_s));
  std::vector<double> hidden;
  for (int i = 0; i < kBesideRounds; ++i) {
    const double alone_s = together_s(group, [&] { multiply(times + 1); });
    const double sent_s = together_s(group, send);
    const double both_s = together_s(group, [&] {
      const TransferHandle handle = group.start(call);
      multiply(times + 1);
      group.wait(handle);
    });
    hidden.push_back((alone_s + sent_s - both_s) / sent_s);
  }
  const double share =
      std::clamp(agree(group, median(hidden)), kLeastHidden, 1.0);
  return 1 / share - 1;
}

std::vector<LinkCurve> probe_link(Group& group, const c10::Device& device) {
  std::vector<LinkCurve> out;
  const at::Tensor pool =
      at::ones({kPool_bytes / 4},
               at::TensorOptions().dtype(at::kFloat).device(device))
          .zero_();
  for (const auto& [call, op] :
       {std::pair{Collective::all_reduce, CurveOp::all_reduce},
        {Collective::broadcast, CurveOp::broadcast},
        {Collective::reduce, CurveOp::reduce},
        {Collective::all_gather, CurveOp::all_gather},
        {Collective::reduce_scatter, CurveOp::reduce_scatter}}) {
    LinkCurve& curve = out.emplace_back();
    curve.ranks = group.size(), curve.op = op;
    for (double bytes = kFirst_bytes; bytes <= kLast_bytes; bytes *= 4) {
      const int count = std::clamp(static_cast<int>(kBytesEach / bytes),
                                   kLeastTimes, kMostTimes / 5);
      curve.points.push_back(
          {bytes,
           transfer_s(group, calls_of(call, group, pool, bytes), count)});
      if (curve.points.back().seconds > kSlow_s) break;
    }
  }
  return out;
}

std::vector<DevicePair> probe_pairs(std::vector<DevicePair> pairs) {
  for (DevicePair& pair : pairs) {
    pair.latency_s = copy_s(pair, 4);
    pair.bytes_per_s = static_cast<double>(kPairCopy) / copy_s(pair, kPairCopy);
  }
  return pairs;
}

bool on_one_host(Group& group) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const auto mine =
      static_cast<std::int64_t>(std::hash<std::string>{}(name) % 1'000'003);
  const at::Tensor sum = at::full({2}, mine, at::kLong);
  sum[1] *= mine;
  group.run({.op = Collective::all_reduce, .tensor = sum});
  const auto n = static_cast<std::int64_t>(group.size());
  return sum[0].item<std::int64_t>() == n * mine &&
         sum[1].item<std::int64_t>() == n * mine * mine;
}

Link measured_link(std::vector<LinkCurve> curves, bool one_host) {
  Link link;
  link.name = one_host ? "this host's memory" : "between these hosts";
  link.kind = one_host ? LinkKind::memory : LinkKind::network;
  link.hop = one_host ? Hop::memory : Hop::net;
  link.latency_s = curves.front().points.front().seconds;
  link.spread = kProbeSpread;
  link.curves = std::move(curves);
  link.source = "lockstep probe";
  tidy(link);
  return link;
}

}  // namespace lockstep
