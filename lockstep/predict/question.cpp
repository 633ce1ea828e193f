// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/question.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

constexpr std::array kMethods = {Method::single,    Method::data_parallel,
                                 Method::ddp,       Method::sharded,
                                 Method::local_sgd, Method::model_parallel};

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kLargestBatch = std::int64_t{1} << 40;

void require(bool ok, const char* name, const std::string& value,
             const char* range) {
  if (!ok) throw Error(Fault::config, name, value + " is not possible", range);
}

}  // namespace

std::string_view word(Method method) {
  switch (method) {
    case Method::single:
      return "single";
    case Method::data_parallel:
      return "data_parallel";
    case Method::ddp:
      return "ddp";
    case Method::sharded:
      return "sharded";
    case Method::local_sgd:
      return "local_sgd";
    case Method::model_parallel:
      return "model_parallel";
  }
  return "";
}

Method method_of(const std::string& text) {
  std::vector<std::string> names;
  for (const Method m : kMethods) {
    if (word(m) == text) return m;
    names.emplace_back(word(m));
  }
  const std::string close = nearest(text, names);
  throw Error(Fault::config, text, "there is no such strategy",
              close.empty() ? "single, data_parallel, ddp, sharded, local_sgd "
                              "or model_parallel"
                            : "did you mean '" + close + "'?");
}

Method method_of(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::automatic:
    case StrategyKind::single:
      return Method::single;
    case StrategyKind::data_parallel:
      return Method::data_parallel;
    case StrategyKind::ddp:
      return Method::ddp;
    case StrategyKind::sharded:
      return Method::sharded;
    case StrategyKind::local_sgd:
      return Method::local_sgd;
  }
  return Method::ddp;
}

std::string_view word(Scaling scaling) {
  return scaling == Scaling::weak ? "weak" : "strong";
}

std::int64_t Question::global_batch() const {
  if (scaling == Scaling::strong) return batch;
  const std::int64_t replicas = method == Method::model_parallel ? 1 : ranks;
  return batch * accumulate * replicas;
}

std::int64_t Question::rank_batch() const {
  const std::int64_t replicas = method == Method::model_parallel ? 1 : ranks;
  const std::int64_t parts = replicas * accumulate;
  return (global_batch() + parts - 1) / parts;
}

void validate(const Question& q) {
  require(q.ranks >= 1 && q.ranks <= kMostRanks, "ranks",
          std::to_string(q.ranks), "from 1 to 1048576");
  require(q.batch >= 1 && q.batch <= kLargestBatch, "batch",
          std::to_string(q.batch), "from 1 on");
  require(q.accumulate >= 1 && q.accumulate <= 1 << 20, "accumulate",
          std::to_string(q.accumulate), "from 1 on");
  require(q.compression > 0 && q.compression <= 1, "compression",
          fmt::format("{}", q.compression), "a share above 0, at most 1");
  require(q.input_samples_per_s >= 0 && std::isfinite(q.input_samples_per_s),
          "input rate", fmt::format("{}", q.input_samples_per_s),
          "samples a second from 0 on");
  require(q.method != Method::single || q.ranks == 1, "strategy single",
          fmt::format("{} ranks", q.ranks), "single is one rank: use ddp");
}

}  // namespace lockstep
