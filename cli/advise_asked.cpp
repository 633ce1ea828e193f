// SPDX-License-Identifier: Apache-2.0
#include "cli/advise_asked.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/core/units.h"

namespace lockstep::cli {
namespace {

void require(const char* option, double value) {
  if (!std::isfinite(value) || value < 0)
    throw Error(Fault::config, option,
                fmt::format("{} is not a number from 0 on", value));
}

}  // namespace

double deadline_s(const AdviseAsked& asked) {
  const std::string& text = asked.deadline;
  if (text.empty()) return 0;
  const auto seconds = parse_seconds(text);
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0)
    throw Error(Fault::config, "--deadline", "'" + text + "' is no time",
                "seconds, or 30min, 2h, 1d");
  return *seconds;
}

void check_advise(const AdviseAsked& asked) {
  require("--noise-scale", asked.noise_scale);
  require("--lr", asked.lr);
  require("--epochs", asked.epochs);
  require("--price", asked.price);
  require("--budget", asked.budget);
  if (asked.budget > 0 && asked.price <= 0)
    throw Error(Fault::config, "--budget", "needs a price",
                "--price is what one device costs an hour");
  if (!(asked.target >= 0 && asked.target < 1))
    throw Error(Fault::config, "--target",
                fmt::format("{} is no accuracy between 0 and 1", asked.target));
  if (asked.target > 0 && asked.from.empty())
    throw Error(
        Fault::config, "--target",
        fmt::format("how many samples lead to {} is not known", asked.target),
        "--from RUN|STUDY: trainings of this model that reached it");
  if (asked.target <= 0 && !asked.from.empty())
    throw Error(Fault::config, "--from", "is evidence for a --target");
  if (asked.target > 0 && (asked.epochs > 0 || asked.what_if.samples > 0))
    throw Error(Fault::config, "--target",
                "the evidence says how many samples it takes",
                "leave out --epochs and --samples");
}

void declare(Options& options, AdviseAsked& a) {
  declare(options, a.what_if);
  options.value("--noise-scale", a.noise_scale,
                "gradient noise scale in samples; without it larger batches "
                "are not weighed");
  options.value("--lr", a.lr, "learning rate tuned at the recipe's batch");
  options.value("--epochs", a.epochs, "passes over the data at that batch");
  options.value("--price", a.price, "what one device costs an hour");
  options.value("--budget", a.budget, "most money, in the price's currency");
  options.value("--deadline", a.deadline,
                "what it may take: seconds, 30min, 2h, 1d");
  options.value("--target", a.target,
                "validation accuracy to reach, 0 to 1; needs --from");
  options.value("--from", a.from,
                "run or study that reached it: how many samples it took");
  options.format(a.format);
}

}  // namespace lockstep::cli
