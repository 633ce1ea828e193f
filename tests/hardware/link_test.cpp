// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/link.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

Link two_points() {
  return {.name = "mine",
          .beyond = "",
          .curves = {
              {.ranks = 2, .nodes = 1, .points = {{4e4, 1e-3}, {1e3, 1e-5}}}}};
}

TEST(Link, ACurvePassesThroughItsPointsAndIsStraightInLogarithms) {
  Link link = two_points();
  tidy(link);
  const LinkCurve& curve = link.curves[0];
  EXPECT_DOUBLE_EQ(seconds_at(curve, 1e3), 1e-5);
  EXPECT_DOUBLE_EQ(seconds_at(curve, 4e4), 1e-3);
  EXPECT_NEAR(seconds_at(curve, std::sqrt(4e7)), 1e-4, 1e-12);
  EXPECT_DOUBLE_EQ(seconds_at(curve, 1), 1e-5);
  EXPECT_DOUBLE_EQ(seconds_at(curve, 16e4), 4e-3);
}

TEST(Link, FarPointsAreJoinedByLatencyAndBandwidth) {
  Link link = two_points();
  link.curves[0].points = {{8, 1e-5}, {1e9, 1.00001}};
  tidy(link);
  EXPECT_NEAR(seconds_at(link.curves[0], 1e6), 1e-5 + 1e-3, 1e-8);
}

TEST(Link, NoiseThatFallsWithSizeIsPooled) {
  Link link = two_points();
  link.curves[0].points = {{1, 4e-5}, {2, 1e-5}, {4, 9e-5}};
  tidy(link);
  EXPECT_NEAR(link.curves[0].points[0].seconds, 2e-5, 1e-12);
  EXPECT_NEAR(link.curves[0].points[1].seconds, 2e-5, 1e-12);
  EXPECT_DOUBLE_EQ(link.curves[0].points[2].seconds, 9e-5);
}

TEST(Link, ImpossibleNumbersAreRefused) {
  const auto refused = [](auto change) {
    Link link = two_points();
    change(link);
    EXPECT_THROW(tidy(link), Error);
  };
  refused([](Link& l) { l.curves.clear(); });
  refused([](Link& l) { l.curves[0].points.clear(); });
  refused([](Link& l) { l.curves[0].points[0].seconds = -1; });
  refused([](Link& l) { l.curves[0].points[0].seconds = std::nan(""); });
  refused([](Link& l) { l.curves[0].points[0].bytes = 0; });
  refused([](Link& l) { l.curves[0].points[1] = l.curves[0].points[0]; });
  refused([](Link& l) { l.curves[0].ranks = 1; });
  refused([](Link& l) { l.curves[0].nodes = 3; });
  refused([](Link& l) { l.latency_s = 0; });
  refused([](Link& l) { l.spread = -0.1; });
}

// nccl-tests doc/PERFORMANCE.md.
TEST(Link, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CurveOp::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CurveOp::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CurveOp::reduce_scatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(CurveOp::broadcast, 16), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CurveOp::reduce, 16), 1);
}

TEST(Link, MoreBytesNeverTakeLess) {
  EXPECT_TRUE(rc::check("time never falls with size", [] {
    const auto& links = link_presets();
    const Link& link = links[*rc::gen::inRange<std::size_t>(0, links.size())];
    const double small = std::exp(*rc::gen::inRange(0, 2400) / 100.0);
    const double large = small * (1 + *rc::gen::inRange(0, 1000) / 100.0);
    for (const LinkCurve& curve : link.curves)
      RC_ASSERT(seconds_at(curve, small) <= seconds_at(curve, large));
  }));
}

}  // namespace
}  // namespace lockstep
