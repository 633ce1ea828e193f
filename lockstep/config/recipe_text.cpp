// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/recipe_text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "lockstep/core/file.h"

namespace lockstep {
namespace {

// A recipe is a page of text; anything larger is a mistake in the path.
constexpr std::int64_t kMaxRecipeBytes = 1 << 20;

std::string line_of(const toml::source_region& region) {
  return fmt::format("{}:{}", region.begin.line, region.begin.column);
}

// Dates and times become null: no setting takes one.
Json convert(const toml::node& node, const std::string& path,
             std::map<std::string, std::string>& lines) {
  const auto below = [&path](const std::string& key) {
    return path.empty() ? key : path + "." + key;
  };
  if (const auto* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      lines[below(name)] = line_of(key.source());
      out[name] = convert(value, below(name), lines);
    }
    return out;
  }
  if (const auto* array = node.as_array()) {
    Json out = Json::array();
    for (const toml::node& item : *array) {
      const std::string name = below(std::to_string(out.size()));
      lines[name] = line_of(item.source());
      out.push_back(convert(item, name, lines));
    }
    return out;
  }
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* d = node.as_floating_point()) return d->get();
  if (const auto* s = node.as_string()) return s->get();
  return nullptr;
}

}  // namespace

std::string RecipeText::place(const std::string& dotted) const {
  const auto line = lines.find(dotted);
  return line == lines.end() ? name : name + ":" + line->second;
}

RecipeText parse_recipe(const std::string& toml, const std::string& name) {
  if (toml.find('\0') != std::string::npos)
    throw Error(Fault::config, name, "is a binary file, not a recipe");
  RecipeText out{.name = name};
  try {
    const toml::table table =
        toml::parse(std::string_view(toml), std::string_view(name));
    out.json = convert(table, "", out.lines);
  } catch (const toml::parse_error& e) {
    throw Error(Fault::config, name + ":" + line_of(e.source()),
                std::string(e.description()));
  }
  return out;
}

RecipeText read_recipe(const std::filesystem::path& path) {
  return parse_recipe(read_file(path, Fault::config, kMaxRecipeBytes),
                      path.string());
}

}  // namespace lockstep
