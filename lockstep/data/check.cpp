// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/check.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {
namespace {

// Shared by the workers of one check.
struct Search {
  const Dataset& dataset;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  std::mutex mutex = {};  // guards the rest
  std::vector<BrokenSample> broken = {};
  std::exception_ptr other = {};  // not about data: ours
};

void search(Search& s, const std::function<void(std::int64_t)>& progress) {
  const SampleShape& shape = s.dataset.shape();
  std::vector<std::int64_t> input(
      static_cast<std::size_t>(numel(shape.input)));  // 8 bytes fit both kinds
  std::vector<std::int64_t> target(
      static_cast<std::size_t>(numel(shape.target)));
  for (std::int64_t i = s.next++; i < s.dataset.size(); i = s.next++) {
    try {
      s.dataset.read(i, 0, input.data(), target.data());
    } catch (const Error& e) {
      const std::lock_guard lock(s.mutex);
      if (e.fault() == Fault::data)
        s.broken.push_back({i, e.what()});
      else
        s.other = std::current_exception();
    }
    progress(++s.done);
  }
}

}  // namespace

std::vector<BrokenSample> check_samples(
    const Dataset& dataset, std::int64_t workers,
    const std::function<void(std::int64_t)>& progress) {
  Search s{dataset};
  std::vector<std::thread> threads;
  for (std::int64_t i = 1; i < workers; ++i)
    threads.emplace_back([&s] { search(s, [](std::int64_t) {}); });
  search(s, progress);
  for (std::thread& thread : threads) thread.join();
  if (s.other) std::rethrow_exception(s.other);
  std::ranges::sort(s.broken, {}, &BrokenSample::index);
  return std::move(s.broken);
}

}  // namespace lockstep
