// SPDX-License-Identifier: Apache-2.0
// Nearest neighbours of points in a plane, by the larger of |dx| and |dy|: a
// k-d tree, so that ties in one coordinate cost nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

class PlaneTree {
 public:
  struct Point {
    double x = 0, y = 0;
  };

  PlaneTree(std::span<const double> x, std::span<const double> y);

  // In the tree's own order: neighbours lie near each other in memory.
  std::span<const Point> points() const { return points_; }

  // From point `at` of points() to its k-th neighbour, itself left out. There
  // must be more than k points.
  double neighbour_distance(std::size_t at, int k) const;

 private:
  struct Node {
    std::uint32_t begin = 0, end = 0;  // in points_
    std::uint32_t right = 0;           // 0: a leaf; the left one follows
    bool by_x = true;
    double split = 0;
  };
  class Nearest;

  void build(std::uint32_t begin, std::uint32_t end);
  void search(std::uint32_t node, std::size_t at, Nearest& nearest) const;

  std::vector<Point> points_;
  std::vector<Node> nodes_;
};

}  // namespace lockstep
