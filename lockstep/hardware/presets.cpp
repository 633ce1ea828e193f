// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/csv.h"
#include "lockstep/core/text.h"
#include "lockstep/hardware/words.h"

namespace lockstep {

namespace embedded {  // made from presets/*.csv by the build
extern const std::string_view preset_devices, preset_links, preset_link_points,
    preset_clusters;
}

namespace {

// One row by column name. A wrong cell is our own mistake: the file is ours.
class Row {
 public:
  Row(const Csv& csv, const CsvRow& row) : csv_(csv), row_(row) {}

  const std::string& text(std::string_view title) const {
    return row_.cells[csv_.required(title, Fault::internal)];
  }
  double number(std::string_view title) const {
    const std::string& cell = text(title);
    if (cell.empty()) return 0;
    const auto value = parse_number<double>(cell);
    if (!value)
      throw Error(Fault::internal, csv_.place(row_),
                  fmt::format("{}: '{}' is not a number", title, cell));
    return *value;
  }
  int count(std::string_view title) const {
    return static_cast<int>(number(title));
  }
  std::vector<std::string> list(std::string_view title) const {
    const std::string& cell = text(title);
    return cell.empty() ? std::vector<std::string>{} : split(cell, ';');
  }

 private:
  const Csv& csv_;
  const CsvRow& row_;
};

std::vector<DeviceSpec> read_devices() {
  const Csv csv =
      parse_csv(embedded::preset_devices, "devices.csv", Fault::internal);
  std::vector<DeviceSpec> out;
  for (const CsvRow& cells : csv.rows) {
    const Row row(csv, cells);
    out.push_back(
        {.name = row.text("name"),
         .other_names = row.list("other_names"),
         .arch = row.text("arch"),
         .fp32_flops = row.number("fp32_flops"),
         .tf32_flops = row.number("tf32_flops"),
         .half_flops = row.number("half_flops"),
         .memory_bytes = static_cast<std::int64_t>(row.number("memory_bytes")),
         .memory_bytes_per_s = row.number("memory_bytes_per_s"),
         .host_bytes_per_s = row.number("host_bytes_per_s"),
         .nvlink_bytes_per_s = row.number("nvlink_bytes_per_s"),
         .gpu = true,
         .source = row.text("source")});
    validate(out.back());
  }
  return out;
}

void add_point(Link& link, const Row& row) {
  const int ranks = row.count("ranks"), nodes = row.count("nodes");
  const CurveOp op = curve_op(row.text("op"), "link_points.csv");
  auto curve = std::ranges::find_if(link.curves, [&](const LinkCurve& c) {
    return c.ranks == ranks && c.nodes == nodes && c.op == op;
  });
  if (curve == link.curves.end()) {
    link.curves.push_back(
        {.ranks = ranks, .nodes = nodes, .op = op, .points = {}});
    curve = link.curves.end() - 1;
  }
  curve->points.push_back({row.number("bytes"), row.number("seconds")});
  const std::string& source = row.text("source");
  if (link.source.find(source) == std::string::npos)
    link.source += (link.source.empty() ? "" : "; ") + source;
}

std::vector<Link> read_links() {
  const Csv csv =
      parse_csv(embedded::preset_links, "links.csv", Fault::internal);
  const Csv points = parse_csv(embedded::preset_link_points, "link_points.csv",
                               Fault::internal);
  std::vector<Link> out;
  for (const CsvRow& cells : csv.rows) {
    const Row row(csv, cells);
    Link link{.name = row.text("name"),
              .other_names = row.list("other_names"),
              .kind = link_kind(row.text("kind"), "links.csv"),
              .p2p = row.text("p2p") == "yes",
              .hop = hop(row.text("hop"), "links.csv"),
              .latency_s = row.number("latency_s"),
              .ramp_bytes = row.number("ramp_bytes"),
              .spread = row.number("spread"),
              .max_ranks = row.count("max_ranks"),
              .beyond = row.text("beyond"),
              .match = row.list("match")};
    for (const CsvRow& point : points.rows)
      if (Row(points, point).text("link") == link.name)
        add_point(link, Row(points, point));
    tidy(link);
    out.push_back(std::move(link));
  }
  return out;
}

std::vector<Cluster> read_clusters() {
  const Csv csv =
      parse_csv(embedded::preset_clusters, "clusters.csv", Fault::internal);
  std::vector<Cluster> out;
  for (const CsvRow& cells : csv.rows) {
    const Row row(csv, cells);
    Cluster cluster{.name = row.text("name"),
                    .nodes = row.count("nodes"),
                    .devices_per_node = row.count("devices_per_node"),
                    .device = find_device(row.text("device")),
                    .inside = {},
                    .between = {}};
    if (!row.text("inside").empty())
      cluster.inside = find_link(row.text("inside"));
    if (!row.text("between").empty())
      cluster.between = find_link(row.text("between"));
    validate(cluster);
    out.push_back(std::move(cluster));
  }
  return out;
}

template <class Preset>
bool is_called(const Preset& preset, const std::string& plain) {
  if (plain_name(preset.name) == plain) return true;
  if constexpr (requires { preset.other_names; })
    return std::ranges::any_of(preset.other_names, [&](const auto& other) {
      return plain_name(other) == plain;
    });
  return false;
}

template <class Preset>
const Preset& find_in(const std::vector<Preset>& all, const char* what,
                      const std::string& name) {
  const std::string plain = plain_name(name);
  for (const Preset& preset : all)
    if (!plain.empty() && is_called(preset, plain)) return preset;
  std::vector<std::string> names;
  for (const Preset& preset : all) {
    names.push_back(preset.name);
    if constexpr (requires { preset.other_names; })
      for (const auto& other : preset.other_names) names.push_back(other);
  }
  const std::string close = nearest(name, names);
  throw Error(Fault::config, name, fmt::format("there is no such {}", what),
              close.empty() ? "`lockstep hardware list` names them all"
                            : "did you mean '" + close + "'?");
}

}  // namespace

const std::vector<DeviceSpec>& device_presets() {
  static const std::vector<DeviceSpec> all = read_devices();
  return all;
}

const std::vector<Link>& link_presets() {
  static const std::vector<Link> all = read_links();
  return all;
}

const std::vector<Cluster>& cluster_presets() {
  static const std::vector<Cluster> all = read_clusters();
  return all;
}

const DeviceSpec& find_device(const std::string& name) {
  return find_in(device_presets(), "device", name);
}

const Link& find_link(const std::string& name) {
  return find_in(link_presets(), "link", name);
}

const Cluster& find_cluster(const std::string& name) {
  return find_in(cluster_presets(), "cluster", name);
}

}  // namespace lockstep
