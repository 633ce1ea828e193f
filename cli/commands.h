// SPDX-License-Identifier: Apache-2.0
// The verbs. Each is declared here and defined in cmd_<name>.cpp.
#pragma once

#include "cli/command.h"

namespace lockstep::cli {

std::function<int()> advise(Options& options);
std::function<int()> batch(Options& options);
std::function<int()> compare(Options& options);
std::function<int()> config(Options& options);
std::function<int()> data(Options& options);
std::function<int()> doctor(Options& options);
std::function<int()> export_run(Options& options);
std::function<int()> find_batch(Options& options);
std::function<int()> hardware(Options& options);
std::function<int()> predict(Options& options);
std::function<int()> probe(Options& options);
std::function<int()> profile(Options& options);
std::function<int()> serve(Options& options);
std::function<int()> summary(Options& options);
std::function<int()> report(Options& options);
std::function<int()> sweep(Options& options);
std::function<int()> train(Options& options);
std::function<int()> version(Options& options);

}  // namespace lockstep::cli
