// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/toml_text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

std::string line_of(const toml::source_region& region) {
  return fmt::format("{}:{}", region.begin.line, region.begin.column);
}

Json convert(const toml::node& node, const std::string& path, TomlText& out);

// The value at `path`, whose key or place in a list stands at `region`.
Json convert_below(const toml::node& node, const std::string& path,
                   const toml::source_region& region, TomlText& out) {
  out.lines[path] = line_of(region);
  return convert(node, path, out);
}

Json convert(const toml::node& node, const std::string& path, TomlText& out) {
  const std::string before = path.empty() ? "" : path + ".";
  if (const auto* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, value] : *table)
      json[std::string(key.str())] = convert_below(
          value, before + std::string(key.str()), key.source(), out);
    return json;
  }
  if (const auto* array = node.as_array()) {
    Json json = Json::array();
    for (const toml::node& item : *array)
      json.push_back(convert_below(item, before + std::to_string(json.size()),
                                   item.source(), out));
    return json;
  }
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* d = node.as_floating_point()) return d->get();
  if (const auto* s = node.as_string()) return s->get();
  throw Error(Fault::config, out.place(path) + ": " + path,
              "is a date or a time", "write a number or text");
}

}  // namespace

std::string TomlText::place(const std::string& dotted) const {
  const auto line = lines.find(dotted);
  return line == lines.end() ? name : name + ":" + line->second;
}

TomlText parse_toml(const std::string& text, const std::string& name) {
  if (text.find('\0') != std::string::npos)
    throw Error(Fault::config, name, "is a binary file, not TOML");
  TomlText out{.name = name};
  try {
    const toml::table table =
        toml::parse(std::string_view(text), std::string_view(name));
    out.json = convert(table, "", out);
  } catch (const toml::parse_error& e) {
    throw Error(Fault::config, name + ":" + line_of(e.source()),
                std::string(e.description()));
  }
  return out;
}

}  // namespace lockstep
