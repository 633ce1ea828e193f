// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/run_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

template <class Section>
void list(std::vector<Field>& out, const char* name, Section& section) {
  FieldLister lister(name, out);
  describe(lister, section);
}

// Reading needs no change, so a const config may be listed for its values.
std::vector<Field> const_fields_of(const RunConfig& config) {
  return fields_of(const_cast<RunConfig&>(config));
}

[[noreturn]] void contradiction(const std::string& where,
                                const std::string& what,
                                const std::string& hint) {
  throw Error(Fault::config, where, what, hint);
}

void validate_batch(const RunConfig& c) {
  if ((c.batch.per_rank > 0) == (c.batch.global > 0))
    contradiction("batch",
                  c.batch.global > 0 ? "per_rank and global are both set"
                                     : "neither per_rank nor global is set",
                  "set exactly one: per_rank for weak scaling, global for "
                  "strong scaling");
  if (c.batch.global > 0 && c.batch.global < c.comm.ranks * c.batch.accumulate)
    contradiction(
        "batch.global",
        fmt::format("{} samples cannot be shared by {} ranks x {} passes",
                    c.batch.global, c.comm.ranks, c.batch.accumulate),
        "raise it, or use fewer ranks");
}

void validate_strategy(const RunConfig& c) {
  if (c.strategy.kind == StrategyKind::single && c.comm.ranks > 1)
    contradiction("strategy.kind",
                  fmt::format("single trains on one rank, comm.ranks is {}",
                              c.comm.ranks),
                  "choose ddp or data_parallel");
  if (c.strategy.hook != HookKind::none && c.strategy.kind != StrategyKind::ddp)
    contradiction("strategy.hook", "makes the messages of ddp smaller",
                  "choose strategy.kind=ddp, or strategy.hook=none");
  if (c.comm.kind == CommKind::emulated && c.comm.link.empty())
    contradiction("comm.link", "an emulated cluster needs a link preset",
                  "`lockstep hardware list` names them");
}

void validate_optim(const RunConfig& c) {
  if (c.optim.nesterov && c.optim.momentum == 0)
    contradiction("optim.nesterov", "needs a momentum above zero",
                  "set optim.momentum, 0.9 is usual");
  if (c.optim.kind != OptimKind::sgd && c.optim.momentum != 0)
    contradiction("optim.momentum", "belongs to sgd alone",
                  "adam's is optim.beta1");
}

void validate_data(const RunConfig& c) {
  if (c.data.mean.size() != c.data.std.size())
    contradiction("data.mean",
                  fmt::format("has {} numbers, data.std has {}",
                              c.data.mean.size(), c.data.std.size()),
                  "give both, one number a channel");
  if (std::ranges::any_of(c.data.std, [](double s) { return s <= 0; }))
    contradiction("data.std", "must be above zero", "");
  if ((c.model.kind == ModelKind::gpt) != (c.data.kind == DataKind::text) &&
      c.data.kind != DataKind::synthetic)
    contradiction("data.kind", "gpt reads text, and only gpt does",
                  "set data.kind = \"text\" with model.kind = \"gpt\"");
}

void validate_device(const RunConfig& c) {
  const std::string& d = c.train.device;
  const bool numbered = d.starts_with("cuda:") &&
                        parse_number<int>(d.substr(5)).value_or(-1) >= 0;
  if (d != "cpu" && d != "cuda" && !numbered)
    contradiction("train.device", fmt::format("'{}' is not a device", d),
                  "it may be cpu, cuda or cuda:N");
  if (c.train.precision == Precision::tf32 && d == "cpu")
    contradiction("train.precision", "tf32 is a mode of GPUs",
                  "use fp32 or bf16 on the CPU");
}

}  // namespace

std::vector<Field> fields_of(RunConfig& config) {
  std::vector<Field> out;
  list(out, "model", config.model);
  list(out, "data", config.data);
  list(out, "batch", config.batch);
  list(out, "train", config.train);
  list(out, "optim", config.optim);
  list(out, "strategy", config.strategy);
  list(out, "comm", config.comm);
  list(out, "measure", config.measure);
  list(out, "store", config.store);
  return out;
}

const Field& find_field(std::span<const Field> fields,
                        const std::string& dotted) {
  std::vector<std::string> names;
  for (const Field& f : fields) {
    if (f.dotted() == dotted) return f;
    names.push_back(f.dotted());
  }
  const std::string close = nearest(dotted, names);
  throw Error(Fault::config, dotted, "there is no such setting",
              close.empty() ? "`lockstep config --explain` lists them all"
                            : "did you mean '" + close + "'?");
}

void validate(const RunConfig& config) {
  validate_batch(config);
  validate_strategy(config);
  validate_optim(config);
  validate_data(config);
  validate_device(config);
}

std::string to_toml(const RunConfig& config) {
  std::string out, section;
  for (const Field& f : const_fields_of(config)) {
    if (f.section != section) {
      out += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", f.section);
      section = f.section;
    }
    out += fmt::format("{} = {}\n", f.name, to_toml(f.get()));
  }
  return out;
}

Json to_json(const RunConfig& config) {
  Json out = Json::object();
  for (const Field& f : const_fields_of(config))
    std::visit([&](const auto& v) { out[f.section][f.name] = v; }, f.get());
  return out;
}

std::string word(const RunConfig& config, const std::string& dotted) {
  const std::vector<Field> fields = const_fields_of(config);
  const Field& f = find_field(fields, dotted);
  check(f.type == FieldType::choice, "word() is for choices");
  return std::get<std::string>(f.get());
}

}  // namespace lockstep
