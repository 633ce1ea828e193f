// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/object_reader.h"

namespace lockstep {
namespace {

constexpr const char* kKind = "lockstep profile";

using Place = ObjectReader::Place;

Precision read_precision(const ObjectReader& o) {
  const std::string text = o.text("precision");
  if (text == "fp32") return Precision::fp32;
  if (text == "tf32") return Precision::tf32;
  if (text == "bf16") return Precision::bf16;
  throw Error(Fault::config, o.where("precision"),
              "'" + text + "' is none of the words", "fp32, tf32 or bf16");
}

}  // namespace

const char* word(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
  }
  return "fp32";
}

namespace {

std::vector<std::int64_t> read_wholes(const ObjectReader& o,
                                      const std::string& key) {
  std::vector<std::int64_t> out;
  for (const double v : o.numbers(key)) {
    if (v != std::floor(v) || v < 0 || v > 1e15)
      throw Error(Fault::config, o.where(key),
                  fmt::format("{} is not a whole number from 0 on", v));
    out.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

ProfileLayer read_layer(const Json& json, const std::string& path,
                        const Place& place) {
  ObjectReader o(json, path, place);
  ProfileLayer layer;
  layer.name = o.text("name");
  o.take("type", layer.type);
  o.take("activation_bytes", layer.activation_bytes);
  o.take("output_bytes", layer.output_bytes);
  layer.forward_s = o.numbers("forward_s");
  layer.backward_s = o.numbers("backward_s");
  o.finish();
  return layer;
}

ProfileLoss read_loss(const Json& json, const Place& place) {
  ObjectReader o(json, "loss", place);
  ProfileLoss loss{o.numbers("forward_s"), o.numbers("backward_s")};
  o.finish();
  return loss;
}

ProfileParam read_param(const Json& json, const std::string& path,
                        const Place& place) {
  ObjectReader o(json, path, place);
  ProfileParam param;
  param.name = o.text("name");
  param.numel = o.whole("numel");
  param.layer = static_cast<std::size_t>(o.whole("layer"));
  if (o.has("rows")) param.rows = o.whole("rows");
  o.finish();
  return param;
}

void check_head(const ObjectReader& o, const std::string& name) {
  if (!o.has("kind") || o.text("kind") != kKind)
    throw Error(Fault::config, name, "is not a profile",
                fmt::format("a profile has \"kind\": \"{}\"", kKind));
  const std::int64_t schema = o.whole("schema");
  if (schema != kProfileSchema)
    throw Error(Fault::config, name,
                fmt::format("is a profile of schema {}, this program reads {}",
                            schema, kProfileSchema),
                "profile the model again with this version");
}

void require(bool ok, const std::string& name, const std::string& what) {
  if (!ok) throw Error(Fault::config, name, what);
}

void check_times(const std::vector<double>& times, std::size_t count,
                 const std::string& name, const std::string& what) {
  require(times.size() == count, name,
          fmt::format("{}: {} times for {} batch sizes", what, times.size(),
                      count));
  for (const double t : times)
    require(std::isfinite(t) && t >= 0 && t < 1e5, name,
            fmt::format("{}: {} s is not possible", what, t));
}

void check_order(const Profile& p, const std::string& name) {
  require(p.gradient_order.size() == p.params.size(), name,
          fmt::format("gradient_order has {} entries for {} parameters",
                      p.gradient_order.size(), p.params.size()));
  std::vector<std::size_t> sorted = p.gradient_order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    require(sorted[i] == i, name,
            fmt::format("gradient_order does not name parameter {} once", i));
}

void check_bytes(double value, const std::string& name, const char* what) {
  require(std::isfinite(value) && value >= 0 && value < 1e15, name,
          fmt::format("{} = {} is not possible", what, value));
}

}  // namespace

void validate(const Profile& p, const std::string& name) {
  const std::size_t n = p.batches.size();
  require(n >= 2, name, "needs two or more batch sizes");
  require(p.batches.front() >= 1 &&
              std::ranges::adjacent_find(p.batches, std::greater_equal<>()) ==
                  p.batches.end(),
          name, "batch sizes must rise from 1 on");
  require(!p.layers.empty(), name, "has no layers");
  for (const ProfileLayer& l : p.layers) {
    check_times(l.forward_s, n, name, "layer " + l.name + ", forward_s");
    check_times(l.backward_s, n, name, "layer " + l.name + ", backward_s");
    check_bytes(l.activation_bytes, name, "activation_bytes");
    check_bytes(l.output_bytes, name, "output_bytes");
  }
  if (p.loss) {
    check_times(p.loss->forward_s, n, name, "loss, forward_s");
    check_times(p.loss->backward_s, n, name, "loss, backward_s");
  }
  for (const ProfileParam& param : p.params) {
    require(param.layer < p.layers.size(), name,
            "parameter " + param.name + " belongs to no layer");
    require(param.numel >= 0 && param.numel < (std::int64_t{1} << 50), name,
            fmt::format("parameter {}: numel {} is not possible", param.name,
                        param.numel));
    require(
        param.rows == 0 || (param.rows > 0 && param.numel % param.rows == 0),
        name,
        fmt::format("parameter {}: {} rows of {} elements", param.name,
                    param.rows, param.numel));
  }
  check_order(p, name);
  check_times(p.step_s, n, name, "step_s");
  check_times({p.optimizer_s}, 1, name, "optimizer_s");
  check_times({p.optimizer_alone_s.value_or(0)}, 1, name, "optimizer_alone_s");
  for (const double s : p.step_s) require(s > 0, name, "step_s: 0 s");
  check_bytes(p.buffer_bytes, name, "buffer_bytes");
  check_bytes(p.optimizer_bytes, name, "optimizer_bytes");
  check_bytes(p.input_bytes, name, "input_bytes");
  check_bytes(p.output_bytes, name, "output_bytes");
  check_bytes(p.input_samples_per_s, name, "input_samples_per_s");
  require(p.jitter >= 0 && p.jitter < 10, name,
          fmt::format("jitter = {} is not possible", p.jitter));
  require(p.memory_bytes.empty() || p.memory_bytes.size() == n, name,
          "memory_bytes has another length than batches");
}

Profile profile_from_json(const Json& json, const std::string& name) {
  const Place place = [&name](const std::string& dotted) {
    return dotted.empty() ? name : name + ": " + dotted;
  };
  ObjectReader o(json, "", place);
  check_head(o, name);
  Profile p;
  o.take("model", p.model);
  o.take("device", p.device);
  o.take("software", p.software);
  p.precision = read_precision(o);
  p.batches = read_wholes(o, "batches");
  const Json& layers = o.array("layers");
  for (std::size_t i = 0; i < layers.size(); ++i)
    p.layers.push_back(
        read_layer(layers[i], fmt::format("layers.{}", i), place));
  if (o.has("loss")) p.loss = read_loss(o.any("loss"), place);
  const Json& params = o.array("params");
  for (std::size_t i = 0; i < params.size(); ++i)
    p.params.push_back(
        read_param(params[i], fmt::format("params.{}", i), place));
  for (const std::int64_t i : read_wholes(o, "gradient_order"))
    p.gradient_order.push_back(static_cast<std::size_t>(i));
  p.step_s = o.numbers("step_s");
  p.optimizer_s = o.number("optimizer_s");
  if (o.has("optimizer_alone_s"))
    p.optimizer_alone_s = o.number("optimizer_alone_s");
  o.take("buffer_bytes", p.buffer_bytes);
  o.take("optimizer_bytes", p.optimizer_bytes);
  o.take("input_bytes", p.input_bytes);
  o.take("output_bytes", p.output_bytes);
  o.take("input_samples_per_s", p.input_samples_per_s);
  o.take("jitter", p.jitter);
  if (o.has("memory_bytes")) p.memory_bytes = o.numbers("memory_bytes");
  o.finish();
  validate(p, name);
  return p;
}

Json to_json(const Profile& p) {
  Json layers = Json::array(), params = Json::array();
  for (const ProfileLayer& l : p.layers)
    layers.push_back({{"name", l.name},
                      {"type", l.type},
                      {"activation_bytes", l.activation_bytes},
                      {"output_bytes", l.output_bytes},
                      {"forward_s", l.forward_s},
                      {"backward_s", l.backward_s}});
  for (const ProfileParam& param : p.params) {
    params.push_back(
        {{"name", param.name}, {"numel", param.numel}, {"layer", param.layer}});
    if (param.rows > 0) params.back()["rows"] = param.rows;
  }
  Json out = {{"kind", kKind},
              {"schema", kProfileSchema},
              {"model", p.model},
              {"device", p.device},
              {"software", p.software},
              {"precision", word(p.precision)},
              {"batches", p.batches},
              {"step_s", p.step_s},
              {"optimizer_s", p.optimizer_s},
              {"jitter", p.jitter},
              {"input_samples_per_s", p.input_samples_per_s},
              {"buffer_bytes", p.buffer_bytes},
              {"optimizer_bytes", p.optimizer_bytes},
              {"input_bytes", p.input_bytes},
              {"output_bytes", p.output_bytes}};
  if (p.optimizer_alone_s) out["optimizer_alone_s"] = *p.optimizer_alone_s;
  if (!p.memory_bytes.empty()) out["memory_bytes"] = p.memory_bytes;
  out["gradient_order"] = p.gradient_order;
  out["params"] = std::move(params);
  out["layers"] = std::move(layers);
  if (p.loss)
    out["loss"] = {{"forward_s", p.loss->forward_s},
                   {"backward_s", p.loss->backward_s}};
  return out;
}

Profile load_profile(const std::filesystem::path& path) {
  return profile_from_json(read_json(path, Fault::config), path.string());
}

void save_profile(const std::filesystem::path& path, const Profile& profile) {
  validate(profile, path.string());
  write_json(path, to_json(profile));
}

}  // namespace lockstep
