// SPDX-License-Identifier: Apache-2.0
// A square of predicted against measured efficiency, written as SVG: no
// library draws it, any browser shows it.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lockstep/report/table_validation.h"

namespace lockstep {
namespace {

constexpr double kSide = 520, kMargin = 60, kMost = 1.1;

double along_side(double efficiency) {
  return std::clamp(efficiency, 0.0, kMost) / kMost * kSide;
}
double x_of(double efficiency) { return kMargin + along_side(efficiency); }
double y_of(double efficiency) {
  return kMargin + kSide - along_side(efficiency);
}

std::string axes() {
  std::string out;
  for (const double tick : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    out += fmt::format(
        "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' stroke='#ddd'/>\n"
        "<line x1='{1}' x2='{2}' y1='{3:.1f}' y2='{3:.1f}' stroke='#ddd'/>\n"
        "<text x='{0:.1f}' y='{4}' text-anchor='middle'>{5}</text>\n"
        "<text x='{6}' y='{7:.1f}' text-anchor='end'>{5}</text>\n",
        x_of(tick), kMargin, kMargin + kSide, y_of(tick), kMargin + kSide + 18,
        tick, kMargin - 8, y_of(tick) + 4);
  }
  return out;
}

std::string diagonal(double factor, const char* dash) {
  const double end = kMost / std::max(1.0, factor);
  return fmt::format(
      "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#333' "
      "stroke-dasharray='{}'/>\n",
      x_of(0), y_of(0), x_of(end), y_of(end * factor), dash);
}

constexpr const char* kNvlink = "#1b9e77";
constexpr const char* kNodes = "#7570b3";
constexpr const char* kPcie = "#d95f02";

std::string_view colour(const std::string& link) {
  if (link == "nvswitch" || link == "nvlink-mesh") return kNvlink;
  return link == "multi-node" ? kNodes : kPcie;
}

// All dots of a colour as one path: strokes of no length with round ends.
std::string dots(const std::vector<HeldBack>& rows, std::string_view ink) {
  std::string out = fmt::format(
      "<path stroke='{}' stroke-width='4' stroke-linecap='round' "
      "stroke-opacity='0.5' fill='none' d='",
      ink);
  for (const HeldBack& r : rows)
    if (colour(r.row.link_class) == ink)
      out +=
          fmt::format("M{:.0f} {:.0f}h0", x_of(r.measured), y_of(r.predicted));
  return out + "'/>\n";
}

}  // namespace

std::string scatter_svg(const std::vector<HeldBack>& rows,
                        const std::string& title) {
  const double all = kSide + 2 * kMargin;
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {0}' "
      "width='{0}' height='{0}' font-family='sans-serif' font-size='13'>\n"
      "<rect width='{0}' height='{0}' fill='white'/>\n{1}",
      all, axes());
  out += diagonal(1, "") + diagonal(1.1, "4 4") + diagonal(0.9, "4 4");
  for (const char* ink : {kNvlink, kNodes, kPcie}) out += dots(rows, ink);
  out += fmt::format(
      "<text x='{0}' y='30' text-anchor='middle' font-size='15'>Efficiency of "
      "{1} runs, {2}; dashed: 10 % off</text>\n"
      "<text x='{0}' y='{3}' text-anchor='middle'>measured</text>\n"
      "<text x='16' y='{0}' text-anchor='middle' transform='rotate(-90 16 "
      "{0})'>predicted</text>\n"
      "<text x='{4}' y='46' fill='{7}'>NVLink</text>"
      "<text x='{5}' y='46' fill='{8}'>PCIe</text>"
      "<text x='{6}' y='46' fill='{9}'>several nodes</text>\n</svg>\n",
      all / 2, rows.size(), title, all - 14, kMargin, kMargin + 60,
      kMargin + 110, kNvlink, kPcie, kNodes);
  return out;
}

}  // namespace lockstep
