// SPDX-License-Identifier: Apache-2.0
// A hardware file from disk, as TOML or as the JSON the program writes itself.
#include "lockstep/core/file.h"
#include "lockstep/core/toml_text.h"
#include "lockstep/hardware/hardware_file.h"

namespace lockstep {
namespace {

// A curve of a few hundred points; anything larger is a mistake in the path.
constexpr std::int64_t kMaxHardwareBytes = 16 << 20;

Hardware from_text(const TomlText& text) {
  return hardware_from_json(text.json, [&text](const std::string& dotted) {
    const std::string place = text.place(dotted);
    return dotted.empty() ? place : place + ": " + dotted;
  });
}

}  // namespace

Hardware parse_hardware_toml(const std::string& text, const std::string& name) {
  return from_text(parse_toml(text, name));
}

Hardware load_hardware(const std::filesystem::path& path) {
  if (path.extension() == ".toml")
    return parse_hardware_toml(
        read_file(path, Fault::config, kMaxHardwareBytes), path.string());
  return from_text(
      {.name = path.string(), .json = read_json(path, Fault::config)});
}

}  // namespace lockstep
