// SPDX-License-Identifier: Apache-2.0
#include "cli/batch_devices.h"

#include <algorithm>

#include "cli/lists.h"
#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/grid.h"

namespace lockstep::cli {
namespace {

constexpr int kMostDevices = 64;

// The device all its runs ran on.
std::string study_device(const std::string& study) {
  std::string found;
  for (const RunFacts& run : read_runs(std::vector<std::string>{study}).runs) {
    if (run.hardware.empty() || run.hardware == found) continue;
    if (!found.empty())
      throw Error(Fault::config, study,
                  "ran on " + found + " and on " + run.hardware,
                  "--hardware NAME|FILE says which to predict");
    found = run.hardware;
  }
  if (found.empty())
    throw Error(Fault::config, study, "does not say on which device it ran",
                "--hardware NAME|FILE says which to predict");
  return found;
}

bool joins_nodes(const std::string& links) {
  const std::vector<std::string> parts = split(links, '+');
  return std::ranges::any_of(parts, [](const std::string& part) {
    return find_link(std::string(trim(part))).kind == LinkKind::network;
  });
}

std::vector<int> counts_of(const std::string& devices, int most) {
  std::vector<int> out;
  if (!devices.empty()) {
    for (const std::int64_t n : numbers_of("--devices", devices)) {
      if (n > 1 << 20) throw Error(Fault::config, "--devices", "are too many");
      out.push_back(static_cast<int>(n));
    }
    return out;
  }
  for (int n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

}  // namespace

void declare(Options& options, ClusterAsked& asked) {
  options.value("--link", asked.link,
                "predict more of the study's devices joined by this link, "
                "INSIDE or INSIDE+BETWEEN");
  options.value("--hardware", asked.hardware,
                "cluster preset or hardware file: devices to predict; a "
                "profile's peaks");
  options.value("--per-node", asked.per_node, "devices of a node, with --link");
}

DevicesAsked devices_asked(const std::string& study, const ClusterAsked& asked,
                           const std::string& devices) {
  if (!asked.hardware.empty() && !asked.link.empty())
    throw Error(Fault::config, "--hardware", "brings its own links",
                "leave out --link, or --hardware");
  if (!asked.hardware.empty()) {
    const Cluster cluster = find_hardware(asked.hardware).cluster;
    return {study, cluster,
            counts_of(devices, std::min(kMostDevices, cluster.devices()))};
  }
  if (asked.per_node < 1 || asked.per_node > 1 << 20)
    throw Error(Fault::config, "--per-node", "is no number of devices");
  const bool between = joins_nodes(asked.link);
  const auto per_node = static_cast<int>(asked.per_node);
  const std::vector<int> counts =
      counts_of(devices, between ? kMostDevices : per_node);
  return {study,
          cluster_from(study_device(study), asked.link, per_node,
                       *std::ranges::max_element(counts)),
          counts};
}

}  // namespace lockstep::cli
