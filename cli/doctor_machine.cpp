// SPDX-License-Identifier: Apache-2.0
// Cores, memory, clock, disk, MPI and data folders, as the system gives them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/doctor.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/text.h"
#include "lockstep/core/units.h"

namespace fs = std::filesystem;

namespace lockstep::cli {
namespace {

// The first line of a small file of the system, or empty.
std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Cores' worth of time this group of processes may use, or 0 for no limit.
double cpu_quota() {
  const auto parts = split(first_line("/sys/fs/cgroup/cpu.max"), ' ');
  if (parts.size() != 2) return 0;
  const auto quota = parse_number<double>(parts[0]);
  const auto period = parse_number<double>(parts[1]);
  return quota && period && *period > 0 ? *quota / *period : 0;
}

Finding cores() {
  cpu_set_t set;
  const int usable = sched_getaffinity(0, sizeof set, &set) == 0
                         ? CPU_COUNT(&set)
                         : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const double quota = cpu_quota();
  Finding f{.part = "cores", .found = fmt::format("{} usable", usable)};
  if (quota > 0) f.found += fmt::format(", quota {:.4g}", quota);
  if (quota > 0 && quota < usable) {
    f.state = State::warn;
    f.advice = fmt::format(
        "times will jump when the quota is used up: use at most {} threads",
        std::max(1, static_cast<int>(quota)));
  }
  return f;
}

Finding memory() {
  std::ifstream in("/proc/meminfo");
  double total_bytes = 0, free_bytes = 0, kib = 0;
  for (std::string key, line; in >> key >> kib; std::getline(in, line)) {
    if (key == "MemTotal:") total_bytes = kib * 1024;
    if (key == "MemAvailable:") free_bytes = kib * 1024;
  }
  Finding f{.part = "memory",
            .found = fmt::format("{} of {} free", format_bytes(free_bytes),
                                 format_bytes(total_bytes))};
  if (free_bytes < 1e9) {
    f.state = State::warn;
    f.advice = "LibTorch and a small model want 1 GB: end something else";
  }
  return f;
}

// The smallest step the steady clock was seen to take.
double clock_step_s() {
  double smallest = 1;
  for (int i = 0; i < 1000; ++i) {
    const double begin = now_s();
    double end = begin;
    while (end == begin) end = now_s();
    smallest = std::min(smallest, end - begin);
  }
  return smallest;
}

Finding clock() {
  const double step_s = clock_step_s();
  const std::string source = first_line(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string governor =
      first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  Finding f{
      .part = "clock",
      .found = fmt::format("steps of {:.0f} ns, source {}, governor {}",
                           step_s * 1e9, source.empty() ? "unknown" : source,
                           governor.empty() ? "unknown" : governor)};
  if (step_s > 1e-6) {
    f.state = State::warn;
    f.advice = "spans under 100 us will be coarse: prefer clock source tsc";
  } else if (!governor.empty() && governor != "performance") {
    f.state = State::warn;
    f.advice =
        "times vary with the frequency: cpupower frequency-set -g "
        "performance";
  }
  return f;
}

Finding disk() {
  const fs::path here = fs::current_path();
  std::error_code bad;
  const fs::space_info space = fs::space(here, bad);
  const double free_bytes = bad ? 0 : static_cast<double>(space.available);
  Finding f{.part = "disk",
            .found = fmt::format("{} free in {}", format_bytes(free_bytes),
                                 here.string()),
            .needed = true};
  if (free_bytes < 1e8) {
    f.state = State::missing;
    f.advice = "a run folder and its checkpoints do not fit: free some space";
  } else if (free_bytes < 5e9) {
    f.state = State::warn;
    f.advice = "a study of large models may not fit: 5 GB are a good start";
  }
  return f;
}

std::string find_program(const std::string& name) {
  for (const std::string& folder : split(environment("PATH"), ':')) {
    const fs::path path = fs::path(folder) / name;
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  return "";
}

Finding mpi() {
  const std::string mpirun = find_program("mpirun");
  if (mpirun.empty())
    return {.part = "MPI",
            .state = State::missing,
            .found = "no mpirun in PATH",
            .advice =
                "only comm.kind=mpi needs it: apt-get install "
                "openmpi-bin"};
  Finding f{.part = "MPI", .found = mpirun};
  if (geteuid() == 0 && environment("OMPI_ALLOW_RUN_AS_ROOT").empty()) {
    f.state = State::warn;
    f.advice =
        "Open MPI refuses root: set OMPI_ALLOW_RUN_AS_ROOT=1 and "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
  }
  return f;
}

Finding data() {
  const std::string given = environment("LOCKSTEP_DATA");
  const fs::path folder = given.empty() ? fs::path("data") : fs::path(given);
  const std::string shown =
      (given.empty() ? "data/" : "LOCKSTEP_DATA=" + given);
  std::vector<std::string> sets;
  std::error_code bad;
  for (const auto& entry : fs::directory_iterator(folder, bad))
    if (entry.is_directory(bad)) sets.push_back(entry.path().filename());
  std::ranges::sort(sets);
  if (!sets.empty())
    return {.part = "data",
            .found = fmt::format("{} holds {}", shown, fmt::join(sets, ", "))};
  return {.part = "data",
          .state = given.empty() ? State::warn : State::missing,
          .found = shown + (bad ? " is not there" : " holds no data set"),
          .advice =
              "`lockstep data fetch` or `lockstep data make`; synthetic "
              "data needs none"};
}

}  // namespace

Findings examine_machine() {
  return {cores(), memory(), clock(), disk(), mpi(), data()};
}

}  // namespace lockstep::cli
