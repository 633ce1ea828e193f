// SPDX-License-Identifier: Apache-2.0
// A recipe's text and its way into fields, with the place of a mistake: what a
// run and a study read.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lockstep/config/field.h"
#include "lockstep/core/json.h"
#include "lockstep/core/toml_text.h"

namespace lockstep {

// Error{Fault::config} with file, line and column.
TomlText read_recipe(const std::filesystem::path& path);

// One value as a field takes it: Error{Fault::config} when it is none. `where`
// is the dotted name.
Value value_of(const Json& json, const std::string& where);

// Sets the fields of every section but those in `but`. Errors name the place.
void apply_sections(const TomlText& recipe, std::span<const Field> fields,
                    std::span<const std::string> but = {});

// Runs `act`; an Error of it is given the place of `dotted` in the recipe.
template <class Act>
void at_recipe_place(const TomlText& recipe, const std::string& dotted,
                     const Act& act) {
  try {
    act();
  } catch (const Error& e) {
    throw Error(e.fault(), recipe.place(dotted), e.what(), e.hint());
  }
}

}  // namespace lockstep
