// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/plane_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr std::uint32_t kLeaf = 8;  // points; fewer cost more nodes
constexpr std::size_t kMostNeighbours = 64;

}  // namespace

// The k smallest distances seen so far, in order. k is small.
class PlaneTree::Nearest {
 public:
  explicit Nearest(std::size_t k) : k_(k) {
    distance_.fill(std::numeric_limits<double>::infinity());
  }
  double farthest() const { return distance_[k_ - 1]; }
  void offer(double d) {
    if (d >= farthest()) return;
    std::size_t at = k_ - 1;
    for (; at > 0 && distance_[at - 1] > d; --at)
      distance_[at] = distance_[at - 1];
    distance_[at] = d;
  }

 private:
  std::size_t k_;
  std::array<double, kMostNeighbours> distance_;
};

PlaneTree::PlaneTree(std::span<const double> x, std::span<const double> y) {
  check(x.size() == y.size() && !x.empty(), "points have two coordinates");
  points_.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) points_.push_back({x[i], y[i]});
  build(0, static_cast<std::uint32_t>(points_.size()));
}

void PlaneTree::build(std::uint32_t begin, std::uint32_t end) {
  const std::size_t self = nodes_.size();
  nodes_.push_back({begin, end, 0, true, 0});
  if (end - begin <= kLeaf) return;
  const std::span some(points_.data() + begin, end - begin);
  const auto [left, right] = std::ranges::minmax(some, {}, &Point::x);
  const auto [low, high] = std::ranges::minmax(some, {}, &Point::y);
  const bool by_x = right.x - left.x >= high.y - low.y;
  const auto key = by_x ? &Point::x : &Point::y;
  const auto middle = some.begin() + (end - begin) / 2;
  std::ranges::nth_element(some, middle, {}, key);
  nodes_[self].by_x = by_x;
  nodes_[self].split = (*middle).*key;
  const std::uint32_t half = begin + (end - begin) / 2;
  build(begin, half);
  nodes_[self].right = static_cast<std::uint32_t>(nodes_.size());
  build(half, end);
}

void PlaneTree::search(std::uint32_t index, std::size_t at,
                       Nearest& nearest) const {
  const Node& node = nodes_[index];
  const Point& p = points_[at];
  if (node.right == 0) {
    for (std::size_t i = node.begin; i < node.end; ++i)
      if (i != at)
        nearest.offer(std::max(std::abs(points_[i].x - p.x),
                               std::abs(points_[i].y - p.y)));
    return;
  }
  const double beyond = (node.by_x ? p.x : p.y) - node.split;
  search(beyond < 0 ? index + 1 : node.right, at, nearest);
  // All behind the split are at least that far.
  if (std::abs(beyond) < nearest.farthest())
    search(beyond < 0 ? node.right : index + 1, at, nearest);
}

double PlaneTree::neighbour_distance(std::size_t at, int k) const {
  check(k >= 1 && static_cast<std::size_t>(k) <= kMostNeighbours &&
            static_cast<std::size_t>(k) < points_.size(),
        "there is a k-th neighbour");
  Nearest nearest(static_cast<std::size_t>(k));
  search(0, at, nearest);
  return nearest.farthest();
}

}  // namespace lockstep
