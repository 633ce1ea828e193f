// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/recipe_text.h"

#include "lockstep/core/file.h"

namespace lockstep {
namespace {

// A recipe is a page of text; anything larger is a mistake in the path.
constexpr std::int64_t kMaxRecipeBytes = 1 << 20;

}  // namespace

TomlText read_recipe(const std::filesystem::path& path) {
  return parse_toml(read_file(path, Fault::config, kMaxRecipeBytes),
                    path.string());
}

}  // namespace lockstep
