// SPDX-License-Identifier: Apache-2.0
// One verb of the program: declare options, then run. main.cpp holds the table
// of verbs and the only catch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/table.h"

namespace lockstep::cli {

// What a verb may be told. Hides CLI11, which costs six seconds a file.
class Options {
 public:
  struct Impl;  // a CLI::App, seen by options.cpp alone
  explicit Options(Impl& impl) : impl_(impl) {}

  // `name` is "--ranks" or a bare word for a positional argument. Targets must
  // live as long as the command.
  void value(const std::string& name, std::string& target,
             const std::string& help, bool required = false);
  void value(const std::string& name, std::int64_t& target,
             const std::string& help);
  void value(const std::string& name, double& target, const std::string& help);
  void list(const std::string& name, std::vector<std::string>& target,
            const std::string& help);
  void flag(const std::string& name, bool& target, const std::string& help);
  // --json and --csv, for every verb that prints a table.
  void format(Format& target);

 private:
  Impl& impl_;
};

struct Command {
  const char* name;
  const char* summary;
  // Declares the options and gives back what to do once they are read. The
  // returned function's value is the exit code.
  std::function<int()> (*declare)(Options& options);
};

// A table to stdout, context having gone to stderr.
void print(const Table& table, Format format);

}  // namespace lockstep::cli
