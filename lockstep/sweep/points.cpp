// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/config/model_name.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongestId = 60;

// A value as part of a folder's name.
std::string slug(const Json& value) {
  std::string text =
      value.is_string() ? value.get<std::string>() : value.dump();
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' &&
        c != '_')
      c = '_';
  return text;
}

// What a reader looks for first stands first.
std::vector<std::string> id_names(const StudyRecipe& recipe) {
  std::vector<std::string> out;
  for (const char* name : {"model.kind", "strategy.kind", "comm.ranks"})
    if (std::ranges::find(recipe.varied, name) != recipe.varied.end())
      out.push_back(name);
  // The learning rate mostly goes with the model, and reads badly in a name.
  for (const std::string& name : recipe.varied)
    if (std::ranges::find(out, name) == out.end() && name != "optim.lr")
      out.push_back(name);
  return out;
}

std::string id_of(const StudyRecipe& recipe, std::size_t index) {
  const int width =
      static_cast<int>(std::to_string(recipe.places.size()).size());
  std::string id = fmt::format("{:0{}}", index + 1, width);
  for (const std::string& name : id_names(recipe))
    id += "-" + slug(recipe.places[index].settings[name]);
  return id.substr(0, kLongestId);
}

std::string derive_lr(PointConfig& c) {
  const auto batch = static_cast<double>(global_batch(c.run));
  const double lr = c.derive.lr_base;
  const auto base = static_cast<double>(c.derive.lr_base_batch);
  switch (c.derive.lr_rule) {
    case DeriveRule::as_given:
      return "";
    case DeriveRule::fixed:
      c.run.optim.lr = lr;
      return "fixed";
    case DeriveRule::linear:
      c.run.optim.lr = linear_lr(lr, base, batch);
      return "linear";
    case DeriveRule::square_root:
      c.run.optim.lr = square_root_lr(lr, base, batch);
      return "square_root";
    case DeriveRule::legw: {
      const Legw rule = legw(lr, c.run.optim.warmup_epochs, base, batch);
      c.run.optim.lr = rule.lr;
      c.run.optim.warmup_epochs = rule.warmup_epochs;
      return "legw";
    }
  }
  return "";
}

// Settings that have an axis of their own, or follow from another.
bool is_axis(const std::string& name) {
  static const std::set<std::string> kAxes = {
      "model.kind",     "strategy.kind",    "comm.ranks", "batch.global",
      "batch.per_rank", "batch.accumulate", "train.seed", "optim.lr"};
  return kAxes.contains(name) || name.starts_with("model.variable_") ||
         name.starts_with("derive.");
}

// "linear, warmup_epochs=2": the rule, and what else the grid changes.
std::string arm_of(const StudyRecipe& recipe, const GridPlace& place,
                   const std::string& rule) {
  PointConfig base = recipe.base;
  const std::vector<Field> fields = fields_of(base);
  std::string arm = rule;
  for (const std::string& name : recipe.varied) {
    if (is_axis(name)) continue;
    const Field& field = find_field(fields, name);
    const Json& value = place.settings[name];
    if (std::visit([](const auto& v) { return Json(v); }, field.get()) == value)
      continue;
    arm += fmt::format("{}{}={}", arm.empty() ? "" : ", ", field.name,
                       slug(value));
  }
  return arm;
}

// A timed run: a few steps, nothing beside them.
void shorten(RunConfig& config, const StudyConfig& study) {
  config.train.steps = study.warmup_steps + study.timed_steps;
  config.train.eval_every = 0;
  config.store.checkpoint = false;
  config.measure.record = true;
}

Point point_of(const StudyRecipe& recipe, std::size_t index) {
  const GridPlace& place = recipe.places[index];
  Point point{.id = id_of(recipe, index),
              .settings = place.settings,
              .arm = {},
              .config = {},
              .why = {}};
  PointConfig config = place.config;
  try {
    const std::string rule = derive_lr(config);
    if (!rule.empty()) point.settings["optim.lr"] = config.run.optim.lr;
    point.arm = arm_of(recipe, place, rule);
    if (recipe.study.measure == StudyMeasure::time)
      shorten(config.run, recipe.study);
    // As the run will name it.
    config.run.strategy.kind =
        resolved(config.run.strategy.kind, config.run.comm.ranks);
    validate(config.run);
  } catch (const Error& e) {
    std::string settings;
    for (const std::string& name : recipe.varied)
      settings += fmt::format(" {}={}", name, place.settings[name].dump());
    throw Error(Fault::config, "point" + settings, e.what(),
                "leave it out with [[exclude]]" +
                    (e.hint().empty() ? "" : ", or: " + e.hint()));
  }
  point.config = std::move(config.run);
  return point;
}

// More replicas than there are places to run them, or none to run one.
std::string why_no_room(const RunConfig& c, const Room& room) {
  const std::int64_t ranks = c.comm.ranks;
  const std::int64_t threads = std::max<std::int64_t>(c.train.threads, 1);
  if (c.train.device == "cpu")
    return ranks * threads > room.cores
               ? fmt::format("ranks x threads {} x {}, cores {}", ranks,
                             threads, room.cores)
               : "";
  const int gpus =
      c.train.device == "cuda" ? room.gpus : std::min(room.gpus, 1);
  return ranks > gpus ? fmt::format("ranks {}, GPUs {}", ranks, gpus) : "";
}

}  // namespace

std::string_view word(PointMode mode) {
  switch (mode) {
    case PointMode::timed:
      return "timed";
    case PointMode::train:
      return "train";
    case PointMode::emulated:
      return "emulated";
    case PointMode::correctness:
      return "correctness";
    case PointMode::predicted:
      return "predicted";
  }
  return "";
}

std::vector<Point> points_of(const StudyRecipe& recipe) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < recipe.places.size(); ++i)
    out.push_back(point_of(recipe, i));
  return out;
}

void place_points(std::vector<Point>& points, const StudyConfig& study,
                  const Room& room, bool predict_missing) {
  for (Point& p : points) {
    p.mode = study.measure == StudyMeasure::time ? PointMode::timed
                                                 : PointMode::train;
    p.why.clear();
    if (p.config.comm.kind == CommKind::emulated) {
      p.why = fmt::format("one real rank, {} between {} modelled",
                          p.config.comm.link, p.config.comm.ranks);
      if (p.mode == PointMode::timed) p.mode = PointMode::emulated;
      continue;
    }
    p.why = why_no_room(p.config, room);
    if (p.why.empty()) continue;
    if (predict_missing)
      p.mode = PointMode::predicted;
    else if (p.mode == PointMode::timed)
      p.mode = PointMode::correctness;
  }
}

bool needs_gpu(const Point& point) {
  return point.config.train.device != "cpu" &&
         point.mode != PointMode::predicted;
}

Json axes_of(const Point& point) {
  const RunConfig& c = point.config;
  const std::int64_t global = global_batch(c);
  return {
      {"model", model_name(c.model)},
      {"strategy", word(c, "strategy.kind")},
      {"ranks", c.comm.ranks},
      {"global_batch", global},
      {"per_rank", static_cast<double>(global) /
                       static_cast<double>(c.comm.ranks * c.batch.accumulate)},
      {"seed", c.train.seed},
      {"device", c.train.device},
      {"arm", point.arm}};
}

}  // namespace lockstep
