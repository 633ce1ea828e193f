// SPDX-License-Identifier: Apache-2.0
// Measures this machine as `lockstep probe` asks.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/lists.h"
#include "cli/probe_asked.h"
#include "lockstep/comm/choose_group.h"
#include "lockstep/comm/mpi_group.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/hardware/topology.h"
#include "lockstep/report/probe_table.h"
#include "lockstep/train/probe.h"

namespace lockstep::cli {
namespace {

constexpr double kDeadline_s = 120;

// Of several groups the worst contention: more ranks share the same cores.
void take(const Link& more, std::optional<Link>& into) {
  if (!into) {
    into = more;
    return;
  }
  into->contention = std::max(into->contention, more.contention);
  into->curves.insert(into->curves.end(), more.curves.begin(),
                      more.curves.end());
}

// One group: its ranks' link, and on rank 0 the device where it is the first.
bool probe_group(Group& group, const ProbeAsked& asked, Hardware& out) {
  const std::unique_ptr<Device> device = open_device(asked.device);
  if (group.size() == 1) return true;
  Link link =
      measured_link(probe_link(group, device->torch()), on_one_host(group));
  if (device->torch().is_cpu()) link.contention = probe_contention(group);
  if (group.rank() != 0) return false;
  take(link, out.cluster.inside);
  out.cluster.devices_per_node =
      std::max(out.cluster.devices_per_node, group.size());
  return true;
}

// Whether this process is the one that speaks.
bool probe_all(const ProbeAsked& asked, Hardware& out) {
  const bool gpu = asked.device != "cpu";
  const GroupChoice choice =
      choose_group(CommKind::automatic, std::nullopt, find_launcher(), gpu);
  const RankOptions options{.deadline_s = kDeadline_s,
                            .threads = static_cast<int>(asked.threads)};
  if (choice.kind == CommKind::mpi) {
    if (!asked.ranks.empty())
      throw Error(Fault::config, "--ranks", "contradicts the launcher",
                  "leave it out: the job's ranks are the group");
    bool first = false;
    run_mpi_ranks(
        options, [&](Group& group) { first = probe_group(group, asked, out); });
    return first;
  }
  if (choice.kind != CommKind::threads)
    throw Error(Fault::config, "probe", "times groups of threads or of MPI",
                "run it without this launcher");
  if (!asked.ranks.empty())
    for (const std::int64_t ranks : numbers_of("--ranks", asked.ranks))
      run_ranks(static_cast<int>(ranks), options,
                [&](Group& group) { probe_group(group, asked, out); });
  return true;
}

std::vector<DevicePair> known_pairs() {
  const PairsHere here = pairs_here();
  if (!here.why_unknown.empty())
    fmt::print(stderr, "# pairs of GPUs are left out: {}\n", here.why_unknown);
  return here.pairs;
}

}  // namespace

int run_probe(const ProbeAsked& asked) {
  const Link* like = asked.link.empty() ? nullptr : &find_link(asked.link);
  keep_freed_memory();
  Hardware out;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  out.cluster.name = name;
  if (!probe_all(asked, out)) return 0;
  if (asked.threads > 0) at::set_num_threads(static_cast<int>(asked.threads));
  const std::unique_ptr<Device> device = open_device(asked.device);
  out.cluster.device = probe_device(*device);
  out.host = device->info();
  if (!device->torch().is_cpu()) out.pairs = probe_pairs(known_pairs());
  validate(out.cluster);
  if (!asked.out.empty()) {
    write_json(asked.out, to_json(out));
    fmt::print(stderr, "# measured; hardware file written to {}\n", asked.out);
  }
  print(probe_table(out, match_device(out.cluster.device.name), like),
        asked.format);
  return 0;
}

}  // namespace lockstep::cli
