// SPDX-License-Identifier: Apache-2.0
#include "lockstep/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/types.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"

namespace lockstep {
namespace {

Fault fault_of(const std::string& name) {
  try {
    open_device(name);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.fault();
  }
  ADD_FAILURE() << name << " opened";
  return Fault::internal;
}

TEST(OpenDevice, RefusesANameThatIsNoDevice) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"})
    EXPECT_EQ(fault_of(name), Fault::config) << name;
}

TEST(OpenDevice, ReportsAGpuThatIsNotThereAsADeviceFault) {
  if (std::filesystem::exists("/dev/nvidia0"))
    EXPECT_EQ(fault_of("cuda:4095"), Fault::device);
  else
    EXPECT_EQ(fault_of("cuda"), Fault::device);
}

TEST(CpuDevice, KnowsItsMachine) {
  const Json info = open_device("cpu")->info();
  EXPECT_EQ(info.at("kind"), "cpu");
  EXPECT_GE(info.at("cores").get<int>(), 1);
  EXPECT_GT(info.at("memory_bytes").get<std::int64_t>(), 100'000'000);
}

TEST(CpuDevice, MarksAreTimesInTheirOrder) {
  const auto device = open_device("cpu");
  const TimeSource time = device->time_source();
  const double before = now_s();
  const auto first = time.mark(), second = time.mark();
  const double after = now_s();
  EXPECT_LE(before, time.seconds(first));
  EXPECT_LE(time.seconds(first), time.seconds(second));
  EXPECT_LE(time.seconds(second), after);
  time.forget();
  EXPECT_EQ(time.mark(), first);
}

TEST(CpuDevice, PeakMemoryGrowsByWhatIsTouched) {
  const auto device = open_device("cpu");
  const std::int64_t before = device->peak_memory_bytes();
  {
    std::vector<char> block(200 << 20);
    std::memset(block.data(), 1, block.size());
    EXPECT_GT(device->peak_memory_bytes(), before + (150 << 20));
  }
  device->reset_peak_memory();
  if (device->info().at("peak_memory_resets").get<bool>()) {
    EXPECT_LT(device->peak_memory_bytes(), before + (150 << 20));
  }
}

TEST(CpuDevice, RandomStateComesBack) {
  const auto device = open_device("cpu");
  const at::Tensor state = device->random_state();
  const at::Tensor first = torch::rand({5});
  device->set_random_state(state);
  EXPECT_TRUE(torch::equal(torch::rand({5}), first));
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(Memory, FreedMemoryIsKept) {
  keep_freed_memory();
  // 48 MB, with something small in between that keeps the heap from closing.
  const auto touch = [] {
    torch::empty({12'000'000}).fill_(1);
    return std::make_unique<std::string>(5000, 'x');
  };
  std::vector<std::unique_ptr<std::string>> between;
  between.push_back(touch());
  const long before = page_faults();
  for (int i = 0; i < 5; ++i) between.push_back(touch());
  // Given back to the system it would be some 11,700 pages each time.
  EXPECT_LT(page_faults() - before, 1000);
}

// What the process holds now: blocks that were freed and kept count too.
std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Memory, KeepsNoMoreThanWasInUseAtOnce) {
  keep_freed_memory();
  torch::empty({25'000'000}).fill_(1);  // 100 MB at once
  const std::int64_t before = resident_bytes();
  for (std::int64_t mb = 10; mb < 60; ++mb)  // fifty other sizes, 1.7 GB
    torch::empty({mb * 250'000}).fill_(1);
  EXPECT_GT(before, 0);
  EXPECT_LT(resident_bytes() - before, 200 << 20);
}

TEST(Memory, ThreadsShareTheKeptBlocks) {
  keep_freed_memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 1; i < 200; ++i) {
        const at::Tensor block = torch::full({i * 1000}, i);
        ASSERT_EQ(block[i].item<int>(), i);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Memory, HugePagesAreAskedForOnlyWhereAWholeOneFits) {
  std::vector<char> small(1000), large(10 << 20);
  use_huge_pages(small.data(), small.size());
  use_huge_pages(large.data(), large.size());
  std::memset(large.data(), 1, large.size());
  EXPECT_EQ(large.back(), 1);
}

}  // namespace
}  // namespace lockstep
