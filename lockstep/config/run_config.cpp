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

void validate_mode(const RunConfig& c) {
  const BatchConfig& b = c.batch;
  const bool adaptive = b.mode == BatchMode::adaptive;
  if (!b.decisions.empty() && !adaptive)
    contradiction("batch.decisions", "are those of an adaptive batch",
                  "set batch.mode=adaptive");
  if (adaptive && c.optim.lr_rule != LrRule::none)
    contradiction("optim.lr_rule",
                  "AdaScale sets the rate of an adaptive batch",
                  "set optim.lr_rule=none");
  if (adaptive && is_layerwise(c.optim.kind))
    contradiction("batch.mode", "adaptive scales the rate of sgd and adam",
                  "lars and lamb have a rule of their own: keep mode=fixed");
  const bool information = b.mode == BatchMode::information;
  if (information != !b.candidates.empty() || b.candidates.size() == 1)
    contradiction("batch.candidates",
                  information ? "one batch is nothing to choose from"
                              : "belong to batch.mode=information",
                  "batch.mode=information and two candidates or more");
  for (const double x : b.candidates)
    if (x < 1 || x > (1 << 30) ||
        x != static_cast<double>(static_cast<std::int64_t>(x)))
      contradiction("batch.candidates",
                    fmt::format("{} is not a number of samples", x), "");
  if ((adaptive || b.noise_every > 0) &&
      c.strategy.kind == StrategyKind::data_parallel)
    contradiction("batch.mode",
                  "data_parallel sums gradients before their noise can be seen",
                  "choose strategy.kind=ddp");
  if ((adaptive || b.noise_every > 0) && c.comm.kind == CommKind::emulated)
    contradiction("batch.mode", "noise is measured between real ranks",
                  "an emulated cluster has one: use comm.kind=threads");
}

void validate_strategy(const RunConfig& c) {
  if (c.strategy.kind == StrategyKind::single && c.comm.ranks > 1)
    contradiction("strategy.kind",
                  fmt::format("single trains on one rank, comm.ranks is {}",
                              c.comm.ranks),
                  "choose ddp or data_parallel");
  const bool ddp =
      resolved(c.strategy.kind, c.comm.ranks) == StrategyKind::ddp ||
      c.strategy.kind == StrategyKind::automatic;
  if (c.strategy.hook != HookKind::none &&
      c.strategy.kind == StrategyKind::single)
    contradiction("strategy.hook",
                  "makes messages smaller, and single sends none",
                  "choose strategy.kind=ddp, or strategy.hook=none");
  if (c.measure.hold_every > 0 && !ddp &&
      c.strategy.kind != StrategyKind::sharded)
    contradiction("measure.hold_every",
                  "ddp and sharded alone send during backward",
                  "choose one of them, or leave it at 0");
  if (c.strategy.sync_batchnorm && c.strategy.kind == StrategyKind::local_sgd)
    contradiction("strategy.sync_batchnorm",
                  "ranks of local_sgd train alone between averages",
                  "choose ddp, or leave it at false");
  if (c.comm.kind == CommKind::emulated && c.comm.link.empty())
    contradiction("comm.link", "an emulated cluster needs a link preset",
                  "`lockstep hardware list` names them");
}

void validate_optim(const RunConfig& c) {
  if (c.optim.nesterov && c.optim.momentum == 0)
    contradiction("optim.nesterov", "needs a momentum above zero",
                  "set optim.momentum, 0.9 is usual");
  if (keeps_square(c.optim.kind) && c.optim.momentum != 0)
    contradiction("optim.momentum", "belongs to sgd and lars alone",
                  "adam's and lamb's is optim.beta1");
  if (is_layerwise(c.optim.kind) && c.strategy.kind == StrategyKind::sharded)
    contradiction("optim.kind",
                  "lars and lamb need the norm of whole tensors, sharded ranks "
                  "hold pieces",
                  "choose strategy.kind=ddp");
}

void validate_rates(const RunConfig& c) {
  const OptimConfig& o = c.optim;
  if (o.lr_rule != LrRule::none && o.base_batch == 0)
    contradiction("optim.lr_rule", "needs the batch at which `lr` was tuned",
                  "set optim.base_batch");
  if (o.warmup_from == WarmupFrom::base && o.lr_rule == LrRule::none)
    contradiction("optim.warmup_from", "base is the rate before optim.lr_rule",
                  "set optim.lr_rule, or warm up from zero");
  if (o.schedule == ScheduleKind::range &&
      (o.warmup_epochs > 0 || o.range_from >= o.lr))
    contradiction("optim.schedule",
                  "a range test rises from optim.range_from to optim.lr and "
                  "has no warm-up",
                  "set optim.warmup_epochs=0 and range_from below lr");
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
  if (c.comm.kind == CommKind::nccl && d == "cpu")
    contradiction("comm.kind", "nccl moves the memory of GPUs",
                  "set train.device=cuda, or comm.kind=auto");
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
  validate_mode(config);
  validate_strategy(config);
  validate_optim(config);
  validate_rates(config);
  validate_data(config);
  validate_device(config);
}

std::int64_t global_batch(const RunConfig& config) {
  if (config.batch.global > 0) return config.batch.global;
  return config.batch.per_rank * config.comm.ranks * config.batch.accumulate;
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
