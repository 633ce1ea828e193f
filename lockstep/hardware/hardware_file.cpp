// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/hardware_file.h"

#include <fmt/format.h>

#include "lockstep/core/object_reader.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/hardware/sane.h"
#include "lockstep/hardware/words.h"

namespace lockstep {
namespace {

// What a run noted of its device (`kind`, driver, …): no figure was measured,
// so its preset stands in.
DeviceSpec device_of_run(const ObjectReader& o, const std::string& where) {
  const DeviceSpec* preset = match_device(o.text("name"));
  if (!preset)
    throw Error(Fault::config, where,
                "'" + o.text("name") +
                    "' is no preset, and a run does not measure its device",
                "`lockstep probe --out FILE` on that machine does");
  DeviceSpec out = *preset;
  o.take("memory_bytes", out.memory_bytes);
  return out;
}

DeviceSpec read_device(const Json& json, const std::string& path,
                       const ObjectReader::Place& place) {
  if (json.is_string())
    return at_place(place(path),
                    [&] { return find_device(json.get<std::string>()); });
  ObjectReader o(json, path, place);
  if (o.has("kind")) return device_of_run(o, place(path));
  DeviceSpec d;
  if (o.has("like"))
    d = at_place(o.where("like"), [&] { return find_device(o.text("like")); });
  o.take("name", d.name);
  o.take("arch", d.arch);
  o.take("fp32_flops", d.fp32_flops);
  o.take("tf32_flops", d.tf32_flops);
  o.take("half_flops", d.half_flops);
  o.take("memory_bytes", d.memory_bytes);
  o.take("memory_bytes_per_s", d.memory_bytes_per_s);
  o.take("host_bytes_per_s", d.host_bytes_per_s);
  o.take("nvlink_bytes_per_s", d.nvlink_bytes_per_s);
  o.take("kernel_floor_s", d.kernel_floor_s);
  if (!d.gpu) d.gpu = match_device(d.name) != nullptr;
  o.take("gpu", d.gpu);
  o.take("source", d.source);
  o.finish();
  at_place(place(path), [&] { validate(d); });
  return d;
}

LinkCurve read_curve(const Json& json, const std::string& path,
                     const ObjectReader::Place& place) {
  ObjectReader o(json, path, place);
  LinkCurve curve{.ranks = 2, .nodes = 1, .points = {}};
  o.take("ranks", curve.ranks);
  o.take("nodes", curve.nodes);
  if (o.has("op")) curve.op = curve_op(o.text("op"), o.where("op"));
  const std::vector<double> bytes = o.numbers("bytes");
  const std::vector<double> seconds = o.numbers("seconds");
  o.finish();
  if (bytes.size() != seconds.size())
    throw Error(Fault::config, place(path),
                fmt::format("{} sizes in `bytes` and {} times in `seconds`",
                            bytes.size(), seconds.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    curve.points.push_back({bytes[i], seconds[i]});
  return curve;
}

// One bandwidth instead of a curve: the time of 1 GiB on two ranks.
LinkCurve curve_from_rate(const std::string& where, double bytes_per_s) {
  check_sane(where, "bus_bytes_per_s", bytes_per_s, {1e3, 1e15});
  constexpr double kBytes = 1 << 30;
  return {.ranks = 2, .nodes = 1, .points = {{kBytes, kBytes / bytes_per_s}}};
}

Link read_link(const Json& json, const std::string& path,
               const ObjectReader::Place& place) {
  if (json.is_string())
    return at_place(place(path),
                    [&] { return find_link(json.get<std::string>()); });
  ObjectReader o(json, path, place);
  Link link{.name = path, .beyond = ""};
  if (o.has("like"))
    link = at_place(o.where("like"), [&] { return find_link(o.text("like")); });
  o.take("name", link.name);
  if (o.has("kind")) link.kind = link_kind(o.text("kind"), o.where("kind"));
  if (o.has("hop")) link.hop = hop(o.text("hop"), o.where("hop"));
  o.take("p2p", link.p2p);
  o.take("latency_s", link.latency_s);
  o.take("ramp_bytes", link.ramp_bytes);
  o.take("spread", link.spread);
  o.take("max_ranks", link.max_ranks);
  if (o.has("contention")) link.contention = o.number("contention");
  o.take("beyond", link.beyond);
  o.take("source", link.source);
  if (o.has("bus_bytes_per_s"))
    link.curves = {curve_from_rate(o.where("bus_bytes_per_s"),
                                   o.number("bus_bytes_per_s"))};
  if (o.has("curve")) {
    link.curves.clear();
    const Json& list = o.array("curve");
    for (std::size_t i = 0; i < list.size(); ++i)
      link.curves.push_back(
          read_curve(list[i], fmt::format("{}.curve.{}", path, i), place));
  }
  o.finish();
  at_place(place(path), [&] { tidy(link); });
  return link;
}

DevicePair read_pair(const Json& json, const std::string& path,
                     const ObjectReader::Place& place) {
  ObjectReader o(json, path, place);
  DevicePair pair;
  o.take("a", pair.a);
  o.take("b", pair.b);
  o.take("path", pair.path);
  o.take("p2p", pair.p2p);
  o.take("shared", pair.shared);
  o.take("bytes_per_s", pair.bytes_per_s);
  o.take("latency_s", pair.latency_s);
  o.finish();
  return pair;
}

void check_schema(const ObjectReader& o, const ObjectReader::Place& place) {
  if (!o.has("schema"))
    throw Error(Fault::config, place(""), "has no `schema`",
                fmt::format("a hardware file begins with schema = {}",
                            kHardwareSchema));
  const std::int64_t schema = o.whole("schema");
  if (schema == kHardwareSchema) return;
  throw Error(
      Fault::config, o.where("schema"),
      fmt::format("is a hardware file of schema {}, this program reads {}",
                  schema, kHardwareSchema),
      schema > kHardwareSchema
          ? "use the newer Lockstep that wrote it, or run `lockstep probe` "
            "again with this one"
          : "run `lockstep probe` again to write it anew");
}

Json to_json(const DeviceSpec& d) {
  return {{"name", d.name},
          {"arch", d.arch},
          {"fp32_flops", d.fp32_flops},
          {"tf32_flops", d.tf32_flops},
          {"half_flops", d.half_flops},
          {"memory_bytes", d.memory_bytes},
          {"memory_bytes_per_s", d.memory_bytes_per_s},
          {"host_bytes_per_s", d.host_bytes_per_s},
          {"nvlink_bytes_per_s", d.nvlink_bytes_per_s},
          {"kernel_floor_s", d.kernel_floor_s},
          {"gpu", d.gpu},
          {"source", d.source}};
}

Json to_json(const Link& link) {
  Json curves = Json::array();
  for (const LinkCurve& c : link.curves) {
    Json bytes = Json::array(), seconds = Json::array();
    for (const LinkPoint& p : c.points) {
      bytes.push_back(p.bytes);
      seconds.push_back(p.seconds);
    }
    curves.push_back({{"ranks", c.ranks},
                      {"nodes", c.nodes},
                      {"op", word(c.op)},
                      {"bytes", std::move(bytes)},
                      {"seconds", std::move(seconds)}});
  }
  Json out = {{"name", link.name},           {"kind", word(link.kind)},
              {"hop", word(link.hop)},       {"p2p", link.p2p},
              {"latency_s", link.latency_s}, {"ramp_bytes", link.ramp_bytes},
              {"spread", link.spread},       {"max_ranks", link.max_ranks},
              {"beyond", link.beyond},       {"source", link.source},
              {"curve", std::move(curves)}};
  if (link.contention) out["contention"] = *link.contention;
  return out;
}

}  // namespace

Json to_json(const DevicePair& p) {
  return {{"a", p.a},
          {"b", p.b},
          {"path", p.path},
          {"p2p", p.p2p},
          {"shared", p.shared},
          {"bytes_per_s", p.bytes_per_s},
          {"latency_s", p.latency_s}};
}

Hardware hardware_from_json(const Json& json,
                            const ObjectReader::Place& place) {
  ObjectReader o(json, "", place);
  check_schema(o, place);
  o.skip("schema");
  Hardware out;
  Cluster& c = out.cluster;
  o.take("name", c.name);
  o.take("nodes", c.nodes);
  o.take("devices_per_node", c.devices_per_node);
  if (!o.has("device"))
    throw Error(Fault::config, place(""), "has no `device`",
                "name one: `lockstep hardware list`");
  c.device = read_device(o.any("device"), "device", place);
  if (o.has("inside")) c.inside = read_link(o.any("inside"), "inside", place);
  if (o.has("between"))
    c.between = read_link(o.any("between"), "between", place);
  if (o.has("pairs")) {
    const Json& list = o.array("pairs");
    for (std::size_t i = 0; i < list.size(); ++i)
      out.pairs.push_back(
          read_pair(list[i], fmt::format("pairs.{}", i), place));
  }
  if (o.has("host")) out.host = o.any("host");
  if (out.host.is_object() && out.host.value("kind", Json()) == "cuda")
    c.device.gpu = true;
  if (out.host.is_string() && c.name.empty()) c.name = out.host;
  // A run's machine.json says them of its host.
  for (const char* field : {"system", "cores", "memory_bytes", "pairs_unknown"})
    o.skip(field);
  o.finish();
  at_place(place(""), [&] { validate(c); });
  return out;
}

Json to_json(const Hardware& hardware) {
  const Cluster& c = hardware.cluster;
  Json out = {{"schema", kHardwareSchema},
              {"name", c.name},
              {"nodes", c.nodes},
              {"devices_per_node", c.devices_per_node},
              {"device", to_json(c.device)}};
  if (c.inside) out["inside"] = to_json(*c.inside);
  if (c.between) out["between"] = to_json(*c.between);
  Json pairs = Json::array();
  for (const DevicePair& p : hardware.pairs) pairs.push_back(to_json(p));
  out["pairs"] = std::move(pairs);
  out["host"] = hardware.host;
  return out;
}

Hardware find_hardware(const std::string& name_or_path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name_or_path, ignored))
    return load_hardware(name_or_path);
  if (name_or_path.ends_with(".toml") || name_or_path.ends_with(".json"))
    return load_hardware(name_or_path);  // says what is wrong with the path
  return {.cluster = find_cluster(name_or_path)};
}

}  // namespace lockstep
