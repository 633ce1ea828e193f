// SPDX-License-Identifier: Apache-2.0
// lockstep summary: all built-in models, their sizes and costs.
// lockstep summary MODEL: one of them layer by layer, and what training needs.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "lockstep/config/run_config.h"
#include "lockstep/report/model_summary.h"

namespace lockstep::cli {
namespace {

struct SummaryAsked {
  std::string model, optim, precision;
  std::vector<std::string> sets;
  std::int64_t batch = 1;
  bool total = false;
  Format format = Format::text;
};

void set(std::span<const Field> fields, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw Error(Fault::config, "--set " + text, "has no '='",
                "write --set section.field=value");
  set_from_text(find_field(fields, text.substr(0, equals)),
                text.substr(equals + 1));
}

RunConfig summary_config(const SummaryAsked& asked) {
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  for (const std::string& text : asked.sets) set(fields, text);
  if (!asked.model.empty()) set(fields, "model.kind=" + asked.model);
  if (!asked.optim.empty()) set(fields, "optim.kind=" + asked.optim);
  if (!asked.precision.empty())
    set(fields, "train.precision=" + asked.precision);
  if (asked.batch < 1)
    throw Error(Fault::config, "--batch",
                fmt::format("{} is not a batch size", asked.batch));
  return config;
}

TrainingSetup setup_of(const RunConfig& config, std::int64_t batch) {
  return {.optim = config.optim,
          .optim_name = word(config, "optim.kind"),
          .precision = config.train.precision,
          .precision_name = word(config, "train.precision"),
          .batch = batch};
}

std::string joined(const std::vector<std::string>& sets) {
  std::string out;
  for (const std::string& text : sets)
    if (text.starts_with("model."))
      out += (out.empty() ? "" : " ") + text.substr(6);
  return out;
}

// Every model at its own sizes, and GPT-2 as published.
std::vector<NamedPlan> all_models() {
  std::vector<NamedPlan> plans;
  RunConfig config;
  const std::vector<Field> fields = fields_of(config);
  const Field& kind = find_field(fields, "model.kind");
  for (const std::string& name : kind.words) {
    kind.set(name);
    plans.push_back({"", plan_work(with_own_sizes(config.model))});
  }
  kind.set(std::string("gpt"));
  const std::vector<std::string> gpt2 = {
      "model.vocab=50257", "model.context=1024", "model.layers=12",
      "model.heads=12", "model.width=768"};
  for (const std::string& text : gpt2) set(fields, text);
  plans.push_back({joined(gpt2), plan_work(config.model)});
  return plans;
}

int run_summary(const SummaryAsked& asked) {
  const RunConfig config = summary_config(asked);
  const TrainingSetup setup = setup_of(config, asked.batch);
  if (asked.model.empty()) {
    if (!joined(asked.sets).empty())
      throw Error(Fault::config, "--set", "needs a MODEL to apply to");
    std::fprintf(
        stderr,
        "# FLOPs and activations of one sample; bytes/FLOP at batch 1; "
        "memory to train at batch %lld, %s, %s (computed)\n",
        static_cast<long long>(setup.batch), setup.optim_name.c_str(),
        setup.precision_name.c_str());
    print(model_table(all_models(), setup), asked.format);
    return 0;
  }
  const WorkPlan plan = plan_work(with_own_sizes(config.model));
  if (asked.total) {
    const NamedPlan named{joined(asked.sets), plan};
    print(model_table({&named, 1}, setup), asked.format);
  } else if (asked.format != Format::text) {
    print(layer_table(plan, setup.precision), asked.format);
  } else {
    std::fputs((torchsummary_text(plan) + training_text(plan, setup)).c_str(),
               stdout);
  }
  return 0;
}

}  // namespace

std::function<int()> summary(Options& options) {
  auto asked = std::make_shared<SummaryAsked>();
  options.value("model", asked->model, "a built-in model; none: list them all");
  options.value("--batch", asked->batch, "samples a step, for memory");
  options.value("--optim", asked->optim, "sgd, adam or adamw, for memory");
  options.value("--precision", asked->precision,
                "fp32, tf32 or bf16, for memory");
  options.list("--set", asked->sets, "model.field=value, may be repeated");
  options.flag("--total", asked->total, "one row for the whole model");
  options.format(asked->format);
  return [asked] { return run_summary(*asked); };
}

}  // namespace lockstep::cli
