// SPDX-License-Identifier: Apache-2.0
// lockstep config RECIPE: the complete settings a run would use.
// lockstep config --explain: every setting there is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "lockstep/config/run_config.h"

namespace lockstep::cli {
namespace {

struct ConfigAsked {
  std::string recipe;
  std::vector<std::string> sets;
  bool explain = false;
  Format format = Format::text;
};

std::string type_of(const Field& f) {
  switch (f.type) {
    case FieldType::flag:
      return "true, false";
    case FieldType::number:
      return f.range.empty() ? "whole number" : "whole number " + f.range;
    case FieldType::real:
      return f.range.empty() ? "number" : "number " + f.range;
    case FieldType::text:
      return "text";
    case FieldType::choice:
      return fmt::format("{}", fmt::join(f.words, ", "));
    case FieldType::reals:
      return "numbers";
  }
  return "";
}

Table explain() {
  Table table{.verb = "config",
              .columns = {{.name = "setting"},
                          {.name = "default"},
                          {.name = "values"},
                          {.name = "help"}}};
  RunConfig defaults;
  for (const Field& f : fields_of(defaults))
    table.add({f.dotted(), to_toml(f.get()), type_of(f), f.help});
  return table;
}

int run_config(const ConfigAsked& asked) {
  if (asked.explain) {
    print(explain(), asked.format);
    return 0;
  }
  if (asked.recipe.empty())
    throw Error(Fault::config, "config", "needs a RECIPE or --explain");
  const RunConfig config = load_config(asked.recipe, asked.sets);
  if (asked.format == Format::text) {
    std::fputs(to_toml(config).c_str(), stdout);
    return 0;
  }
  Table table{.verb = "config",
              .columns = {{.name = "setting"}, {.name = "value"}}};
  RunConfig copy = config;
  for (const Field& f : fields_of(copy))
    table.add({f.dotted(), to_toml(f.get())});
  print(table, asked.format);
  return 0;
}

}  // namespace

std::function<int()> config(Options& options) {
  auto asked = std::make_shared<ConfigAsked>();
  options.value("recipe", asked->recipe, "TOML file that describes a run");
  options.list("--set", asked->sets, "section.field=value, may be repeated");
  options.flag("--explain", asked->explain, "list every setting");
  options.format(asked->format);
  return [asked] { return run_config(*asked); };
}

}  // namespace lockstep::cli
