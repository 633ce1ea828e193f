// SPDX-License-Identifier: Apache-2.0
// A hardware file from disk: TOML is turned into the same JSON the program
// writes itself, with the line of every field kept for errors.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <map>

#include "lockstep/core/file.h"
#include "lockstep/hardware/hardware_file.h"

namespace lockstep {
namespace {

// A curve of a few hundred points; anything larger is a mistake in the path.
constexpr std::int64_t kMaxHardwareBytes = 16 << 20;

struct Places {
  std::string file;
  std::map<std::string, std::string> lines;  // dotted path -> "line:column"

  std::string operator()(const std::string& dotted) const {
    const auto line = lines.find(dotted);
    std::string out = file;
    if (line != lines.end()) out += ":" + line->second;
    return dotted.empty() ? out : out + ": " + dotted;
  }
};

Json convert(const toml::node& node, const std::string& path, Places& places) {
  places.lines[path] = fmt::format("{}:{}", node.source().begin.line,
                                   node.source().begin.column);
  const auto below = [&path](const std::string& key) {
    return path.empty() ? key : path + "." + key;
  };
  if (const auto* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      out[name] = convert(value, below(name), places);
    }
    return out;
  }
  if (const auto* array = node.as_array()) {
    Json out = Json::array();
    for (const toml::node& item : *array)
      out.push_back(convert(item, below(std::to_string(out.size())), places));
    return out;
  }
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* d = node.as_floating_point()) return d->get();
  if (const auto* s = node.as_string()) return s->get();
  throw Error(Fault::config, places(path), "is a date or a time",
              "write a number or text");
}

}  // namespace

Hardware parse_hardware_toml(const std::string& text, const std::string& name) {
  if (text.find('\0') != std::string::npos)
    throw Error(Fault::config, name, "is a binary file, not TOML");
  Places places{.file = name, .lines = {}};
  try {
    const toml::table table =
        toml::parse(std::string_view(text), std::string_view(name));
    const Json json = convert(table, "", places);
    places.lines.erase("");
    return hardware_from_json(json, places);
  } catch (const toml::parse_error& e) {
    throw Error(Fault::config,
                fmt::format("{}:{}:{}", name, e.source().begin.line,
                            e.source().begin.column),
                std::string(e.description()));
  }
}

Hardware load_hardware(const std::filesystem::path& path) {
  if (path.extension() == ".toml")
    return parse_hardware_toml(
        read_file(path, Fault::config, kMaxHardwareBytes), path.string());
  return hardware_from_json(read_json(path, Fault::config),
                            Places{.file = path.string(), .lines = {}});
}

}  // namespace lockstep
