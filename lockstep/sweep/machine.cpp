// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/machine.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Others may use this share of the cores before it is said.
constexpr double kBusyShare = 0.10;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

int usable_cores() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0
                  ? CPU_COUNT(&set)
                  : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto parts = split(first_line("/sys/fs/cgroup/cpu.max"), ' ');
  const auto quota = parse_number<double>(parts[0]);
  if (parts.size() == 2 && quota)
    cores = std::min(cores, static_cast<int>(std::lround(std::floor(
                                *quota / std::stod("0" + parts[1])))));
  return std::max(cores, 1);
}

struct CpuTime {
  double busy = 0, all = 0;
};

CpuTime cpu_time() {
  std::ifstream in("/proc/stat");
  std::string word;
  in >> word;
  CpuTime out;
  double ticks = 0;
  // user nice system idle iowait irq softirq steal; guests are in user.
  for (int i = 0; i < 8 && in >> ticks; ++i) {
    out.all += ticks;
    if (i != 3 && i != 4) out.busy += ticks;
  }
  return out;
}

// Share of all cores that is in use while this process sleeps.
double busy_share(double watch_s) {
  const CpuTime before = cpu_time();
  std::this_thread::sleep_for(std::chrono::duration<double>(watch_s));
  const CpuTime after = cpu_time();
  const double all = after.all - before.all;
  return all > 0 ? (after.busy - before.busy) / all : 0;
}

// A library of the driver's, opened by name: this binary links none of them.
class Library {
 public:
  explicit Library(const char* name)
      : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Calls a function whose zero is success; false when it is not there.
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    using Function = int(Arguments...);
    auto* function = handle_ == nullptr
                         ? nullptr
                         : reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr && function(arguments...) == 0;
  }

 private:
  void* handle_;
};

// As CUDA counts them: CUDA_VISIBLE_DEVICES hides some.
int gpu_count() {
  const Library cuda("libcuda.so.1");
  int count = 0;
  return cuda.call("cuInit", 0U) && cuda.call("cuDeviceGetCount", &count)
             ? count
             : 0;
}

// Processes that compute on each device of the machine now.
std::vector<unsigned> gpu_processes() {
  const Library nvml("libnvidia-ml.so.1");
  unsigned devices = 0;
  if (!nvml.call("nvmlInit_v2") ||
      !nvml.call("nvmlDeviceGetCount_v2", &devices))
    return {};
  std::vector<unsigned> out(devices);
  for (unsigned i = 0; i < devices; ++i) {
    void* device = nullptr;
    if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    // Asked with no room for answers, it says how many there are.
    nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &out[i],
              static_cast<void*>(nullptr));
  }
  nvml.call("nvmlShutdown");
  return out;
}

std::int64_t count_in(const fs::path& file) {
  return parse_number<std::int64_t>(first_line(file)).value_or(0);
}

}  // namespace

Room room_here() { return {.cores = usable_cores(), .gpus = gpu_count()}; }

std::vector<std::string> warnings_here(double watch_s, bool with_gpus) {
  std::vector<std::string> out;
  const double busy = busy_share(watch_s);
  if (busy > kBusyShare)
    out.push_back(fmt::format(
        "busy machine: something else uses {:.0f} % of the cores", busy * 100));
  const std::string governor =
      first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty() && governor != "performance")
    out.push_back("frequency scaling: the governor is '" + governor +
                  "', not 'performance'");
#ifndef NDEBUG
  out.push_back("debug build: its times say nothing of a release build's");
#endif
  if (!with_gpus) return out;
  const std::vector<unsigned> others = gpu_processes();
  for (std::size_t i = 0; i < others.size(); ++i)
    if (others[i] > 0)
      out.push_back(fmt::format(
          "shared GPU: {} other processes compute on GPU {}", others[i], i));
  return out;
}

Troubles troubles_here() {
  Troubles out;
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator("/sys/devices/system/cpu", ignored))
    out.throttled +=
        count_in(entry.path() / "thermal_throttle/core_throttle_count");
  std::ifstream in("/proc/vmstat");
  std::string name;
  std::int64_t value = 0;
  while (in >> name >> value)
    if (name == "oom_kill") out.out_of_memory = value;
  return out;
}

}  // namespace lockstep
