// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/speedup_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kWide = 640, kHigh = 440, kPlotMargin = 60;
constexpr std::array<const char*, kMostCurves> kInk = {
    "#1b9e77", "#d95f02", "#7570b3", "#e7298a",
    "#66a61e", "#e6ab02", "#a6761d", "#666666"};

// Doublings to the page. The least speed-up shown is a quarter.
struct Axes {
  double most_ranks = 1;
  double doublings() const { return std::max(1.0, std::log2(most_ranks)); }
  double x(double ranks) const {
    return kPlotMargin + kWide * std::log2(ranks) / doublings();
  }
  double y(double speedup) const {
    const double up =
        (std::log2(std::max(speedup, 0.25)) + 2) / (doublings() + 2);
    return kPlotMargin + kHigh * (1 - std::min(up, 1.0));
  }
};

std::string grid_lines(const Axes& axes) {
  std::string out;
  const int step = axes.doublings() > 8 ? 2 : 1;
  for (int d = -2; d <= axes.doublings(); d += step) {
    const double value = std::exp2(d);
    out += fmt::format(
        "<line x1='{:.0f}' x2='{:.0f}' y1='{:.1f}' y2='{:.1f}' "
        "stroke='#ddd'/><text x='{:.0f}' y='{:.1f}' "
        "text-anchor='end'>{:g}</text>\n",
        kPlotMargin, kPlotMargin + kWide, axes.y(value), axes.y(value),
        kPlotMargin - 6, axes.y(value) + 4, value);
    if (d < 0) continue;
    out += fmt::format(
        "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' stroke='#ddd'/>"
        "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4:g}</text>\n",
        axes.x(value), kPlotMargin, kPlotMargin + kHigh,
        kPlotMargin + kHigh + 18, value);
  }
  return out;
}

using Curve = std::vector<const GridPoint*>;

// Ranks are a grid's innermost axis: where they fall back a new curve begins.
std::vector<Curve> curves_of(const std::vector<GridPoint>& points) {
  std::vector<Curve> out;
  int before = 0;
  for (const GridPoint& p : points) {
    const int ranks = p.prediction.question.ranks;
    if (out.empty() || ranks <= before) out.emplace_back();
    out.back().push_back(&p);
    before = ranks;
  }
  return out;
}

std::string curve_name(const Grid& grid, const GridPoint& p) {
  const Cluster& c = grid.clusters[p.cluster];
  const std::string link = c.inside    ? c.inside->name
                           : c.between ? c.between->name
                                       : "no link";
  return fmt::format("{}, {}, {}, batch {}", c.device.name, link,
                     word(p.prediction.question.method),
                     p.prediction.question.batch);
}

std::string draw(const Axes& axes, const Curve& curve, const char* ink) {
  std::string line, over, under;
  for (const GridPoint* point : curve) {
    const Prediction* p = &point->prediction;
    const double x = axes.x(p->question.ranks);
    line += fmt::format("{:.1f},{:.1f} ", x, axes.y(p->speedup));
    over += fmt::format("{:.1f},{:.1f} ", x, axes.y(p->speedup_90.hi90));
    under =
        fmt::format("{:.1f},{:.1f} ", x, axes.y(p->speedup_90.lo90)) + under;
  }
  return fmt::format(
      "<polygon points='{}{}' fill='{}' fill-opacity='0.12'/>\n"
      "<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n",
      over, under, ink, line, ink);
}

}  // namespace

std::string speedup_svg(const Subject& subject, const Grid& grid,
                        const std::vector<GridPoint>& points) {
  const std::vector<Curve> curves = curves_of(points);
  Axes axes;
  for (const GridPoint& p : points)
    axes.most_ranks = std::max(
        axes.most_ranks, static_cast<double>(p.prediction.question.ranks));
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' "
      "width='{0}' height='{1}' font-family='sans-serif' font-size='13'>\n"
      "<rect width='{0}' height='{1}' fill='white'/>\n{2}",
      kWide + 2 * kPlotMargin, kHigh + 2 * kPlotMargin, grid_lines(axes));
  out += fmt::format(
      "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#333' "
      "stroke-dasharray='4 4'/>\n",
      axes.x(1), axes.y(1), axes.x(axes.most_ranks), axes.y(axes.most_ranks));
  const std::size_t shown = std::min(curves.size(), kMostCurves);
  for (std::size_t i = 0; i < shown; ++i)
    out += draw(axes, curves[i], kInk[i]) +
           fmt::format("<text x='{}' y='{}' fill='{}'>{}</text>\n",
                       kPlotMargin + 12,
                       kPlotMargin + 18 * static_cast<double>(i + 1), kInk[i],
                       curve_name(grid, *curves[i].back()));
  const std::string more =
      shown < curves.size()
          ? fmt::format("; {} curves not shown", curves.size() - shown)
          : "";
  return out + fmt::format(
                   "<text x='{0}' y='30' text-anchor='middle' "
                   "font-size='15'>{1}: predicted speed-up, 90 % bands{2}"
                   "</text>\n<text x='{0}' y='{3}' "
                   "text-anchor='middle'>ranks</text>\n</svg>\n",
                   kPlotMargin + kWide / 2, subject.name, more,
                   kHigh + 2 * kPlotMargin - 10);
}

}  // namespace lockstep
