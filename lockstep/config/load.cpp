// SPDX-License-Identifier: Apache-2.0
// A recipe into a RunConfig: sections, then --set, then what must hold between
// them.
#include <algorithm>
#include <array>

#include "lockstep/config/recipe_text.h"
#include "lockstep/config/run_config.h"
#include "lockstep/config/study_recipe.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

void check_section(const TomlText& recipe, std::span<const Field> fields,
                   const std::string& section) {
  std::vector<std::string> sections;
  for (const Field& f : fields)
    if (sections.empty() || sections.back() != f.section)
      sections.push_back(f.section);
  if (std::ranges::find(sections, section) != sections.end()) return;
  if (std::ranges::find(kStudySections, section) != kStudySections.end())
    throw Error(Fault::config, recipe.place(section),
                section + ": this recipe is a study, not one run",
                "run it with `lockstep sweep " + recipe.name + "`");
  const std::string close = nearest(section, sections);
  throw Error(Fault::config, recipe.place(section),
              section + ": there is no such section",
              close.empty() ? "`lockstep config --explain` lists them all"
                            : "did you mean '" + close + "'?");
}

}  // namespace

Value value_of(const Json& json, const std::string& where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  const auto is_number = [](const Json& item) { return item.is_number(); };
  if (json.is_array() && std::ranges::all_of(json, is_number))
    return json.get<std::vector<double>>();
  throw Error(Fault::config, where,
              "is neither a number, text, true, false nor a list of numbers");
}

void apply_sections(const TomlText& recipe, std::span<const Field> fields,
                    std::span<const std::string> but) {
  for (const auto& [section, table] : recipe.json.items()) {
    if (std::ranges::find(but, section) != but.end()) continue;
    check_section(recipe, fields, section);
    if (!table.is_object())
      throw Error(Fault::config, recipe.place(section),
                  section + ": is a section, not a value",
                  "write [" + section + "] and its settings below");
    for (const auto& [key, value] : table.items()) {
      std::string dotted = section;
      dotted.append(".").append(key);
      at_recipe_place(recipe, dotted, [&] {
        find_field(fields, dotted).set(value_of(value, dotted));
      });
    }
  }
}

void apply_sets(std::span<const Field> fields,
                std::span<const std::string> sets) {
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos)
      throw Error(Fault::config, "--set " + set, "has no '='",
                  "write --set section.field=value");
    set_from_text(find_field(fields, set.substr(0, equals)),
                  set.substr(equals + 1));
  }
}

namespace {

RunConfig config_of(const TomlText& recipe, std::span<const std::string> sets) {
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  apply_sections(recipe, fields);
  apply_sets(fields, sets);
  validate(config);
  return config;
}

}  // namespace

RunConfig parse_config(const std::string& toml, const std::string& name,
                       std::span<const std::string> sets) {
  return config_of(parse_toml(toml, name), sets);
}

RunConfig load_config(const std::filesystem::path& recipe,
                      std::span<const std::string> sets) {
  return config_of(read_recipe(recipe), sets);
}

}  // namespace lockstep
