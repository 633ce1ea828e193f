// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/hardware_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "lockstep/core/units.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/collective.h"

namespace lockstep {
namespace {

std::string rate_of(const Link& link) {
  const LinkCurve& c = link.curves.back();
  const LinkPoint& p = c.points.back();
  return format_rate(bus_factor(c.op, c.ranks) * p.bytes / p.seconds) +
         fmt::format(" on {}", c.ranks);
}

Table fields() {
  return {.verb = "hardware",
          .columns = {{.name = "field"}, {.name = "value"}}};
}

Table show(const DeviceSpec& d) {
  Table t = fields();
  t.add({"device", d.name});
  t.add({"arch", d.arch});
  t.add({"fp32_flops", d.fp32_flops});
  t.add({"tf32_flops", d.tf32_flops > 0 ? Cell(d.tf32_flops) : Cell()});
  t.add({"half_flops", d.half_flops > 0 ? Cell(d.half_flops) : Cell()});
  t.add({"memory_bytes", d.memory_bytes});
  t.add({"memory_bytes_per_s", d.memory_bytes_per_s});
  t.add({"host_bytes_per_s", d.host_bytes_per_s});
  t.add({"nvlink_bytes_per_s",
         d.nvlink_bytes_per_s > 0 ? Cell(d.nvlink_bytes_per_s) : Cell()});
  t.add({"kernel_floor_s", d.kernel_floor_s});
  t.add({"source", d.source});
  return t;
}

Table show(const Link& link) {
  Table t{
      .verb = "hardware",
      .columns = {
          {.name = "link"},
          {.name = "op"},
          {.name = "ranks"},
          {.name = "nodes"},
          {.name = "bytes", .title = "size", .show = with(format_bytes)},
          {.name = "seconds", .title = "time", .show = with(format_seconds)},
          {.name = "bus_bytes_per_s",
           .title = "bus",
           .show = with(format_rate)}}};
  for (const LinkCurve& c : link.curves)
    for (const LinkPoint& p : c.points)
      t.add({link.name, std::string(word(c.op)), std::int64_t{c.ranks},
             std::int64_t{c.nodes}, p.bytes, p.seconds,
             bus_factor(c.op, c.ranks) * p.bytes / p.seconds});
  return t;
}

Table show(const Cluster& c) {
  Table t{.verb = "hardware",
          .columns = {{.name = "cluster"},
                      {.name = "ranks"},
                      {.name = "nodes"},
                      {.name = "device"},
                      {.name = "link"},
                      {.name = "all_reduce_8b_s",
                       .title = "8 B",
                       .show = with(format_seconds)},
                      {.name = "all_reduce_25mb_s",
                       .title = "25 MB",
                       .show = with(format_seconds)},
                      {.name = "all_reduce_1gb_s",
                       .title = "1 GB",
                       .show = with(format_seconds)}}};
  for (int n = 1; n <= c.devices(); n *= 2) {
    const auto time = [&](double bytes) {
      return Cell(collective_s(c, n, Collective::all_reduce, bytes));
    };
    const std::string link = n == 1              ? "none"
                             : c.nodes_of(n) > 1 ? c.between->name
                                                 : link_inside(c, n).name;
    t.add({c.name, std::int64_t{n}, std::int64_t{c.nodes_of(n)}, c.device.name,
           link, time(8), time(25e6), time(1e9)});
  }
  return t;
}

}  // namespace

Table hardware_list() {
  Table table{.verb = "hardware",
              .columns = {{.name = "kind"},
                          {.name = "name"},
                          {.name = "summary"},
                          {.name = "other_names"}}};
  for (const DeviceSpec& d : device_presets())
    table.add(
        {"device", d.name,
         fmt::format("{} fp32, {} at {}", format_flops(d.fp32_flops) + "/s",
                     format_bytes(double(d.memory_bytes)),
                     format_rate(d.memory_bytes_per_s)),
         fmt::format("{}", fmt::join(d.other_names, ", "))});
  for (const Link& link : link_presets())
    table.add({"link", link.name,
               fmt::format("{}, {}, {}", word(link.kind),
                           link.p2p ? "peer to peer" : "through the host",
                           rate_of(link)),
               fmt::format("{}", fmt::join(link.other_names, ", "))});
  for (const Cluster& c : cluster_presets())
    table.add({"cluster", c.name,
               fmt::format("{} x {} x {}, {}{}", c.nodes, c.devices_per_node,
                           c.device.name, c.inside ? c.inside->name : "no link",
                           c.between ? " and " + c.between->name : ""),
               ""});
  return table;
}

Table hardware_show(const std::string& name) {
  const auto finds = [&name](auto find) {
    try {
      find(name);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const bool file = std::filesystem::exists(name) || name.ends_with(".toml") ||
                    name.ends_with(".json");
  if (file) return show(load_hardware(name).cluster);
  if (finds(find_device)) return show(find_device(name));
  if (finds(find_link)) return show(find_link(name));
  if (finds(find_cluster)) return show(find_cluster(name));
  throw Error(Fault::config, name, "is no device, link, cluster or file",
              "`lockstep hardware list` names them all");
}

}  // namespace lockstep
