// SPDX-License-Identifier: Apache-2.0
// A recipe's TOML as JSON, with the place of every key for errors. What a run
// and a study read; only recipe_text.cpp knows toml++.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "lockstep/config/field.h"
#include "lockstep/core/json.h"

namespace lockstep {

struct RecipeText {
  std::string name;  // of the file
  Json json = Json::object();
  std::map<std::string, std::string> lines = {};  // dotted -> "line:column"

  // "file:line:column" of a dotted name, or the file alone.
  std::string place(const std::string& dotted) const;
};

// Error{Fault::config} with file, line and column.
RecipeText parse_recipe(const std::string& toml, const std::string& name);
RecipeText read_recipe(const std::filesystem::path& path);

// One value as a field takes it: Error{Fault::config} when it is none. `where`
// is the dotted name.
Value value_of(const Json& json, const std::string& where);

// Sets the fields of every section but those in `but`. Errors name the place.
void apply_sections(const RecipeText& recipe, std::span<const Field> fields,
                    std::span<const std::string> but = {});

// Runs `act`; an Error of it is given the place of `dotted` in the recipe.
template <class Act>
void at_recipe_place(const RecipeText& recipe, const std::string& dotted,
                     const Act& act) {
  try {
    act();
  } catch (const Error& e) {
    throw Error(e.fault(), recipe.place(dotted), e.what(), e.hint());
  }
}

}  // namespace lockstep
