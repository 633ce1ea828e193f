// SPDX-License-Identifier: Apache-2.0
// TOML as JSON, with the place of every key for errors: what recipes and
// hardware files are read through. Only toml_text.cpp knows toml++.
#pragma once

#include <map>
#include <string>

#include "lockstep/core/json.h"

namespace lockstep {

struct TomlText {
  std::string name;  // of the file
  Json json = Json::object();
  std::map<std::string, std::string> lines = {};  // dotted -> "line:column"

  // "file:line:column" of a dotted name, or the file alone.
  std::string place(const std::string& dotted) const;
};

// Error{Fault::config} with file, line and column: not TOML, or a date in it,
// which nothing of ours takes.
TomlText parse_toml(const std::string& text, const std::string& name);

}  // namespace lockstep
