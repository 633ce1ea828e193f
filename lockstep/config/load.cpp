// SPDX-License-Identifier: Apache-2.0
// A recipe's TOML into a RunConfig. The only file that knows toml++.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>

#include "lockstep/config/run_config.h"
#include "lockstep/core/file.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

// A recipe is a page of text; anything larger is a mistake in the path.
constexpr std::int64_t kMaxRecipeBytes = 1 << 20;

std::string place(const std::string& name, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", name, region.begin.line, region.begin.column);
}

toml::table parse(const std::string& text, const std::string& name) {
  try {
    return toml::parse(std::string_view(text), std::string_view(name));
  } catch (const toml::parse_error& e) {
    throw Error(Fault::config, place(name, e.source()),
                std::string(e.description()));
  }
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return Value(b->get());
  if (const auto* i = node.as_integer()) return Value(i->get());
  if (const auto* d = node.as_floating_point()) return Value(d->get());
  if (const auto* s = node.as_string()) return Value(s->get());
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<double> list;
  for (const toml::node& item : *array) {
    const auto number = item.value<double>();
    if (!number || item.is_boolean()) return std::nullopt;
    list.push_back(*number);
  }
  return Value(list);
}

void apply(const std::string& name, std::span<const Field> fields,
           const std::string& section, const toml::key& key,
           const toml::node& node) {
  try {
    const Field& field =
        find_field(fields, section + "." + std::string(key.str()));
    const auto value = value_of(node);
    if (!value)
      throw Error(Fault::config, field.dotted(),
                  "is neither a number, text, true, false nor a list of "
                  "numbers");
    field.set(*value);
  } catch (const Error& e) {
    throw Error(e.fault(), place(name, key.source()), e.what(), e.hint());
  }
}

void apply_section(const std::string& name, std::span<const Field> fields,
                   const toml::key& key, const toml::node& node) {
  const std::string section(key.str());
  std::vector<std::string> sections;
  for (const Field& f : fields)
    if (sections.empty() || sections.back() != f.section)
      sections.push_back(f.section);
  if (std::ranges::find(sections, section) == sections.end()) {
    const std::string close = nearest(section, sections);
    throw Error(Fault::config, place(name, key.source()),
                section + ": there is no such section",
                close.empty() ? "`lockstep config --explain` lists them all"
                              : "did you mean '" + close + "'?");
  }
  const toml::table* table = node.as_table();
  if (table == nullptr)
    throw Error(Fault::config, place(name, key.source()),
                section + ": is a section, not a value",
                "write [" + section + "] and its settings below");
  for (const auto& [inner, value] : *table)
    apply(name, fields, section, inner, value);
}

}  // namespace

RunConfig parse_config(const std::string& toml, const std::string& name,
                       std::span<const std::string> sets) {
  if (toml.find('\0') != std::string::npos)
    throw Error(Fault::config, name, "is a binary file, not a recipe");
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  const toml::table recipe = parse(toml, name);
  for (const auto& [key, node] : recipe) apply_section(name, fields, key, node);
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos)
      throw Error(Fault::config, "--set " + set, "has no '='",
                  "write --set section.field=value");
    set_from_text(find_field(fields, set.substr(0, equals)),
                  set.substr(equals + 1));
  }
  validate(config);
  return config;
}

RunConfig load_config(const std::filesystem::path& recipe,
                      std::span<const std::string> sets) {
  return parse_config(read_file(recipe, Fault::config, kMaxRecipeBytes),
                      recipe.string(), sets);
}

}  // namespace lockstep
