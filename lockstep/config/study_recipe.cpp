// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/study_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lockstep/core/file.h"

namespace lockstep {
namespace {

Json json_of(const Value& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

// One setting of a grid or an exclusion with the values it may take.
struct Axis {
  std::string name, path;  // dotted setting; dotted place in the recipe
  std::vector<Json> values;
};

// A list of numbers is one value of a field that holds such lists.
std::vector<Json> values_of(const Field& field, const Json& given) {
  const bool many =
      given.is_array() && (field.type != FieldType::reals || given.empty() ||
                           given.front().is_array());
  if (!many) return {given};
  return {given.begin(), given.end()};
}

// Values are checked and put into the field's own type (1 -> 1.0).
Json normal(const Field& field, const Json& given) {
  field.set(value_of(given, field.dotted()));
  return json_of(field.get());
}

Axis axis_of(const TomlText& recipe, const std::string& name,
             const std::string& path, const Json& given) {
  PointConfig scratch;
  const std::vector<Field> fields = fields_of(scratch);
  Axis axis{.name = name, .path = path, .values = {}};
  at_recipe_place(recipe, path, [&] {
    const Field& field = find_field(fields, name);
    for (const Json& value : values_of(field, given)) {
      axis.values.push_back(normal(field, value));
      if (std::ranges::count(axis.values, axis.values.back()) > 1)
        throw Error(Fault::config, name,
                    fmt::format("{} stands there twice", value.dump()));
    }
    if (axis.values.empty())
      throw Error(Fault::config, name, "an empty list makes no points",
                  "give it a value, or leave it out");
  });
  return axis;
}

// `model.kind = […]` or [grid.model] kind = […]: sections, then fields.
std::vector<Axis> axes_of(const TomlText& recipe, const std::string& path,
                          const Json& table) {
  std::vector<Axis> out;
  if (!table.is_object())
    throw Error(Fault::config, recipe.place(path), path + ": is no table",
                "write [grid] or [[grid]] and lists of settings below");
  for (const auto& [section, fields] : table.items()) {
    const std::string below = fmt::format("{}.{}", path, section);
    if (!fields.is_object())
      throw Error(
          Fault::config, recipe.place(below), section + ": is not a setting",
          "write section.field = [values], such as comm.ranks = [1, 2]");
    for (const auto& [field, value] : fields.items())
      out.push_back(axis_of(recipe, fmt::format("{}.{}", section, field),
                            fmt::format("{}.{}", below, field), value));
  }
  return out;
}

// [name] is one table, [[name]] are several.
std::vector<std::vector<Axis>> tables_of(const TomlText& recipe,
                                         const std::string& name) {
  std::vector<std::vector<Axis>> out;
  if (!recipe.json.contains(name)) return out;
  const Json& given = recipe.json[name];
  if (!given.is_array()) return {axes_of(recipe, name, given)};
  for (const Json& table : given)
    out.push_back(
        axes_of(recipe, fmt::format("{}.{}", name, out.size()), table));
  return out;
}

void check_size(const TomlText& recipe,
                const std::vector<std::vector<Axis>>& grids) {
  double points = 0;
  for (const std::vector<Axis>& grid : grids) {
    double product = 1;
    for (const Axis& axis : grid)
      product *= static_cast<double>(axis.values.size());
    points += product;
  }
  if (points > static_cast<double>(kMostStudyPoints))
    throw Error(Fault::config, recipe.place("grid"),
                fmt::format("grid: {:.3g} points are more than {}", points,
                            kMostStudyPoints),
                "shorten its lists");
}

// Every combination of a grid's values; the last axis moves fastest.
std::vector<Json> combinations(const std::vector<Axis>& grid) {
  std::vector<Json> out = {Json::object()};
  for (const Axis& axis : grid) {
    std::vector<Json> longer;
    for (const Json& head : out)
      for (const Json& value : axis.values) {
        longer.push_back(head);
        longer.back()[axis.name] = value;
      }
    out = std::move(longer);
  }
  return out;
}

// All of the exclusion's settings have one of its values.
bool matches(const std::vector<Axis>& exclusion, const GridPlace& place) {
  PointConfig config = place.config;
  const std::vector<Field> fields = fields_of(config);
  return std::ranges::all_of(exclusion, [&](const Axis& axis) {
    const Json value = json_of(find_field(fields, axis.name).get());
    return std::ranges::find(axis.values, value) != axis.values.end();
  });
}

void exclude(const TomlText& recipe, std::vector<GridPlace>& places) {
  std::size_t index = 0;
  for (const std::vector<Axis>& exclusion : tables_of(recipe, "exclude")) {
    const std::string path = fmt::format("exclude.{}", index++);
    const auto gone = std::erase_if(
        places, [&](const GridPlace& p) { return matches(exclusion, p); });
    if (gone == 0)
      throw Error(Fault::config, recipe.place(path),
                  "exclude: matches no point of the grid",
                  "mend it, or take it out");
  }
  if (places.empty())
    throw Error(Fault::config, recipe.place("grid"),
                "grid: every point is excluded");
}

// The same names for every place: one that a grid leaves out is the recipe's.
void name_all(std::vector<GridPlace>& places) {
  std::vector<std::string> names;
  for (const GridPlace& place : places)
    for (const auto& [name, value] : place.settings.items())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (GridPlace& place : places) {
    const std::vector<Field> fields = fields_of(place.config);
    Json all = Json::object();
    for (const std::string& name : names)
      all[name] = json_of(find_field(fields, name).get());
    place.settings = std::move(all);
  }
}

std::vector<std::string> varied_of(const std::vector<GridPlace>& places) {
  std::vector<std::string> out;
  const Json& first = places.front().settings;
  for (const auto& [name, value] : first.items())
    if (std::ranges::any_of(
            places, [&, &key = name, &same = value](const GridPlace& p) {
              return p.settings[key] != same;
            }))
      out.push_back(name);
  return out;
}

// What the sweep sets itself cannot be varied beside it.
void check_reserved(const TomlText& recipe, const StudyConfig& study,
                    const std::vector<std::vector<Axis>>& grids) {
  if (study.measure != StudyMeasure::time) return;
  for (const std::vector<Axis>& grid : grids)
    for (const Axis& axis : grid)
      if (axis.name == "train.steps" || axis.name == "train.epochs" ||
          axis.name.starts_with("store.") || axis.name == "measure.record")
        throw Error(Fault::config, recipe.place(axis.path),
                    axis.name + ": measure = \"time\" sets it itself",
                    "vary study.timed_steps, or set study.measure = \"train\"");
}

std::vector<GridPlace> places_of(const PointConfig& base,
                                 const std::vector<std::vector<Axis>>& grids) {
  std::vector<GridPlace> out;
  std::set<std::string> seen;
  for (const std::vector<Axis>& grid : grids)
    for (Json& settings : combinations(grid)) {
      GridPlace place{.settings = std::move(settings), .config = base};
      const std::vector<Field> fields = fields_of(place.config);
      for (const auto& [name, value] : place.settings.items())
        find_field(fields, name).set(value_of(value, name));
      // Two grids may meet in a point: it is one point.
      const Json derive = {static_cast<int>(place.config.derive.lr_rule),
                           place.config.derive.lr_base,
                           place.config.derive.lr_base_batch};
      if (seen.insert(to_toml(place.config.run) + derive.dump()).second)
        out.push_back(std::move(place));
    }
  return out;
}

void check_study(const TomlText& recipe, const StudyConfig& study) {
  if (study.min_repeats > study.max_repeats)
    throw Error(
        Fault::config, recipe.place("study.min_repeats"),
        fmt::format("study.min_repeats: {} is more than max_repeats, {}",
                    study.min_repeats, study.max_repeats));
}

}  // namespace

std::vector<Field> fields_of(PointConfig& config) {
  std::vector<Field> out = fields_of(config.run);
  FieldLister lister("derive", out);
  describe(lister, config.derive);
  return out;
}

StudyRecipe parse_study(const std::string& toml, const std::string& name) {
  const TomlText recipe = parse_toml(toml, name);
  if (!recipe.json.contains("grid"))
    throw Error(Fault::config, name, "has no [grid]: it is no study",
                "train one run with `lockstep train " + name + "`");
  StudyRecipe out;
  std::vector<Field> fields = fields_of(out.base);
  FieldLister lister("study", fields);
  describe(lister, out.study);
  apply_sections(recipe, fields, std::array<std::string, 2>{"grid", "exclude"});
  check_study(recipe, out.study);
  const auto grids = tables_of(recipe, "grid");
  check_size(recipe, grids);
  check_reserved(recipe, out.study, grids);
  out.places = places_of(out.base, grids);
  exclude(recipe, out.places);
  name_all(out.places);
  out.varied = varied_of(out.places);
  return out;
}

std::string study_word(const StudyConfig& study, const std::string& field) {
  StudyConfig copy = study;
  std::vector<Field> fields;
  FieldLister lister("study", fields);
  describe(lister, copy);
  return std::get<std::string>(find_field(fields, "study." + field).get());
}

StudyRecipe load_study(const std::filesystem::path& recipe) {
  return parse_study(read_file(recipe, Fault::config, 1 << 20),
                     recipe.string());
}

}  // namespace lockstep
