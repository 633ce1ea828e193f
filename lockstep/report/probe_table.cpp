// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/probe_table.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

// The least share of a maker's figure that a healthy device shows in a probe,
// and the most that can still be the same device. Judgements: products reach
// 60 to 90 % of the peak, copies 75 to 95 %.
constexpr double kLeastFlops = 0.5, kLeastMemory = 0.7, kLeastHost = 0.6;
constexpr double kMostShare = 1.15;
// Standard deviations of ln(time) between machines with the same link.
constexpr double kLinkWidths = 2;

std::string verdict(double ratio, double least, double most) {
  return ratio < least ? "slow" : ratio > most ? "fast" : "normal";
}

void add_figure(Table& t, const std::string& figure, double value,
                const std::string& preset, double expected, double least) {
  if (value <= 0) return;
  const bool known = expected > 0;
  t.add({figure, value, preset.empty() ? Cell() : Cell(preset),
         known ? Cell(expected) : Cell(),
         known ? Cell(value / expected) : Cell(),
         known ? verdict(value / expected, least, kMostShare)
               : std::string("nothing to compare with")});
}

void add_device(Table& t, const DeviceSpec& d, const DeviceSpec* preset) {
  const DeviceSpec none;
  const DeviceSpec& p = preset ? *preset : none;
  const std::string name = preset ? preset->name : "";
  const auto row = [&](const char* figure, double DeviceSpec::*field,
                       double least) {
    add_figure(t, figure, d.*field, name, p.*field, least);
  };
  row("fp32_flops", &DeviceSpec::fp32_flops, kLeastFlops);
  row("tf32_flops", &DeviceSpec::tf32_flops, kLeastFlops);
  row("half_flops", &DeviceSpec::half_flops, kLeastFlops);
  row("memory_bytes_per_s", &DeviceSpec::memory_bytes_per_s, kLeastMemory);
  row("host_bytes_per_s", &DeviceSpec::host_bytes_per_s, kLeastHost);
  add_figure(t, "launch_s", d.kernel_floor_s, "", 0, 0);
}

const LinkCurve* same_curve(const Link* link, const LinkCurve& curve) {
  if (link == nullptr) return nullptr;
  for (const LinkCurve& c : link->curves)
    if (c.op == curve.op && c.ranks == curve.ranks && c.nodes == curve.nodes)
      return &c;
  return nullptr;
}

void add_curve(Table& t, const LinkCurve& curve, const Link* preset) {
  const LinkCurve* same = same_curve(preset, curve);
  for (const LinkPoint* p : {&curve.points.front(), &curve.points.back()}) {
    const double expected = same ? seconds_at(*same, p->bytes) : 0;
    const double width = preset ? std::exp(kLinkWidths * preset->spread) : 1;
    t.add({fmt::format("{} on {} ranks, {}, seconds", word(curve.op),
                       curve.ranks, format_bytes(p->bytes)),
           p->seconds, same ? Cell(preset->name) : Cell(),
           same ? Cell(expected) : Cell(),
           same ? Cell(p->seconds / expected) : Cell(),
           // Less time is faster.
           same ? verdict(expected / p->seconds, 1 / width, width)
                : std::string("nothing to compare with")});
  }
}

}  // namespace

Table probe_table(const Hardware& measured, const DeviceSpec* device,
                  const Link* link) {
  Table t{.verb = "probe",
          .columns = {{.name = "figure"},
                      {.name = "measured"},
                      {.name = "preset"},
                      {.name = "expected"},
                      {.name = "ratio"},
                      {.name = "verdict"}}};
  add_device(t, measured.cluster.device, device);
  if (!measured.cluster.inside) return t;
  for (const LinkCurve& c : measured.cluster.inside->curves)
    add_curve(t, c, link);
  if (const auto contention = measured.cluster.inside->contention)
    add_figure(t, "contention", *contention, "", 0, 0);
  return t;
}

}  // namespace lockstep
