// SPDX-License-Identifier: Apache-2.0
// The only file that includes CLI11: options of a verb, and main's parser.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/parse.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {

struct Options::Impl {
  CLI::App& app;
};

void Options::value(const std::string& name, std::string& target,
                    const std::string& help, bool required) {
  impl_.app.add_option(name, target, help)->required(required);
}

void Options::value(const std::string& name, std::int64_t& target,
                    const std::string& help) {
  impl_.app.add_option(name, target, help);
}

void Options::value(const std::string& name, double& target,
                    const std::string& help) {
  impl_.app.add_option(name, target, help);
}

void Options::list(const std::string& name, std::vector<std::string>& target,
                   const std::string& help) {
  CLI::Option* option = impl_.app.add_option(name, target, help);
  // "--set a=1 --set b=2", never "--set a=1 b=2": a positional may follow.
  if (name.starts_with("-")) option->allow_extra_args(false);
}

void Options::flag(const std::string& name, bool& target,
                   const std::string& help) {
  impl_.app.add_flag(name, target, help);
}

void Options::format(Format& target) {
  const auto set = [&target](Format format) {
    return [&target, format](std::int64_t) { target = format; };
  };
  CLI::Option* json = impl_.app.add_flag_function(
      "--json", set(Format::json), "print {schema, verb, rows} as JSON");
  impl_.app
      .add_flag_function("--csv", set(Format::csv), "print the rows as CSV")
      ->excludes(json);
}

void print(const Table& table, Format format) {
  const std::string text = to_string(table, format);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

namespace {

// CLI11 says only "A subcommand is required" to a mistyped verb.
void check_verb(int argc, char** argv, std::span<const Command> commands) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  const std::string close = nearest(argv[1], names);
  throw Error(Fault::config, argv[1], "there is no such verb",
              close.empty() ? "`lockstep --help` lists them all"
                            : "did you mean '" + close + "'?");
}

}  // namespace

int parse_and_run(int argc, char** argv, std::span<const Command> commands) {
  check_verb(argc, argv, commands);
  CLI::App app(
      "How many devices, which batch size? Lockstep measures, predicts, "
      "decides and trains.",
      "lockstep");
  app.require_subcommand(1);
  app.footer("`lockstep VERB --help` says more. Exit codes: docs/cli.md.");
  std::vector<std::function<int()>> runs;
  std::vector<CLI::App*> subs;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    Options::Impl impl{*sub};
    Options options(impl);
    runs.push_back(command.declare(options));
    subs.push_back(sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version leave with 0, everything else is wrong usage: 2.
    return app.exit(e) == 0 ? 0 : 2;
  }
  for (std::size_t i = 0; i < subs.size(); ++i)
    if (subs[i]->parsed()) return runs[i]();
  return 2;
}

}  // namespace lockstep::cli
