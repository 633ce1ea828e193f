// SPDX-License-Identifier: Apache-2.0
// Many questions at once: every combination of devices, links, strategies,
// batch sizes and ranks. Thousands of points take well under a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/predict.h"
#include "lockstep/predict/subject.h"

namespace lockstep {

struct Grid {
  std::vector<Cluster> clusters;  // devices and links to compare
  std::vector<Method> methods;
  std::vector<std::int64_t> batches;
  std::vector<int> ranks;
  Question asked = {};  // everything else
  // None: Lockstep's own, which is recorded where the trainer records it.
  std::optional<Software> software = {};

  std::size_t points() const {
    return clusters.size() * methods.size() * batches.size() * ranks.size();
  }
};

struct GridPoint {
  std::size_t cluster = 0;  // position in Grid::clusters
  Prediction prediction;
  std::vector<Flip> flips = {};
};

// Flips are searched for up to this many points: beyond it nobody reads them.
constexpr std::size_t kMostFlips = 200;
// Error{Fault::config} beyond it.
constexpr std::size_t kMostPoints = 1'000'000;

std::vector<GridPoint> predict_grid(const Subject& subject, const Grid& grid);

// A cluster from names: `link` is "", "inside", "between" or
// "inside+between". One node holds `per_node` devices; as many nodes as
// `ranks` need, where there is a link between them.
Cluster cluster_from(const std::string& device, const std::string& link,
                     int per_node, int ranks);

}  // namespace lockstep
