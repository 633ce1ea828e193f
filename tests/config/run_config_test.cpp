// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/run_config.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {
namespace {

using Sets = std::vector<std::string>;

std::string error_of(const std::string& toml, const Sets& sets = {}) {
  try {
    parse_config(toml, "r.toml", sets);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    return std::string(e.what()) + " | " + e.hint();
  }
  return "no error";
}

const std::string kBatch = "[batch]\nper_rank = 8\n";

TEST(RunConfig, ARecipeIsReadAndSetWins) {
  const RunConfig c =
      parse_config(kBatch + "[optim]\nlr = 1\n", "r.toml",
                   Sets{"optim.lr=0.25", "model.kind=conv1d", "data.mean=0.5,1",
                        "data.std=1,1", "data.flip=true"});
  EXPECT_EQ(c.optim.lr, 0.25);
  EXPECT_EQ(c.model.kind, ModelKind::conv1d);
  EXPECT_EQ(c.data.mean, (std::vector<double>{0.5, 1}));
  EXPECT_TRUE(c.data.flip);
}

TEST(RunConfig, WhatIsWrittenReadsBackTheSame) {
  RunConfig c = parse_config(kBatch, "r.toml", Sets{"optim.lr=0.1"});
  c.data.path = "a\\b \"c\"\n";
  EXPECT_EQ(to_json(parse_config(to_toml(c), "again", {})), to_json(c));
}

TEST(RunConfig, ErrorsCarryThePlaceAndTheNearestName) {
  EXPECT_EQ(error_of("[batch]\nper_rnak = 8\n"),
            "r.toml:2:1: batch.per_rnak: there is no such setting | did you "
            "mean 'batch.per_rank'?");
  EXPECT_EQ(error_of("[bacth]\nper_rank = 8\n"),
            "r.toml:1:2: bacth: there is no such section | did you mean "
            "'batch'?");
  EXPECT_EQ(error_of("batch = 3\n"),
            "r.toml:1:1: batch: is a section, not a value | write [batch] and "
            "its settings below");
  EXPECT_NE(error_of("[batch]\nper_rank = 8.5\n").find("not a whole number"),
            std::string::npos);
  EXPECT_NE(error_of("[batch]\nper_rank = -1\n").find("out of range"),
            std::string::npos);
  EXPECT_NE(error_of("[batch\n").find("r.toml:1"), std::string::npos);
  EXPECT_NE(error_of(std::string("a\0b", 3)).find("binary"), std::string::npos);
}

TEST(RunConfig, ContradictionsAreRefused) {
  EXPECT_NE(error_of("").find("neither per_rank nor global"),
            std::string::npos);
  EXPECT_NE(error_of("[batch]\nper_rank = 8\nglobal = 8\n").find("both set"),
            std::string::npos);
  EXPECT_NE(error_of(kBatch, Sets{"comm.ranks=2", "strategy.kind=single"})
                .find("strategy.kind"),
            std::string::npos);
  EXPECT_NE(error_of(kBatch, Sets{"optim.nesterov=true"}).find("momentum"),
            std::string::npos);
  EXPECT_NE(error_of(kBatch, Sets{"train.device=gpu"}).find("train.device"),
            std::string::npos);
  EXPECT_NE(error_of(kBatch, Sets{"optim.lr=nan"}).find("optim.lr"),
            std::string::npos);
  EXPECT_NE(error_of(kBatch, Sets{"optim.lr"}).find("has no '='"),
            std::string::npos);
}

TEST(RunConfig, AHookNeedsMessagesAndGoesWithEveryStrategyThatSends) {
  EXPECT_NE(error_of(kBatch, Sets{"strategy.kind=single", "strategy.hook=bf16"})
                .find("single sends none"),
            std::string::npos);
  for (const std::string kind :
       {"data_parallel", "ddp", "sharded", "local_sgd"})
    for (const std::string hook : {"bf16", "fp16", "topk", "powersgd"})
      EXPECT_EQ(error_of(kBatch, Sets{"comm.ranks=2", "strategy.kind=" + kind,
                                      "strategy.hook=" + hook}),
                "no error");
}

TEST(RunConfig, BatchAndRateContradictionsAreRefused) {
  const auto refused = [](const Sets& sets, const std::string& word) {
    EXPECT_NE(error_of(kBatch, sets).find(word), std::string::npos)
        << error_of(kBatch, sets);
  };
  refused({"optim.lr_rule=linear"}, "optim.base_batch");
  refused({"optim.warmup_from=base"}, "before optim.lr_rule");
  refused({"optim.schedule=range", "optim.lr=1e-7"}, "range_from");
  refused({"optim.kind=lamb", "optim.momentum=0.9"}, "optim.beta1");
  refused({"optim.kind=lars", "comm.ranks=2", "strategy.kind=sharded"},
          "whole tensors");
  refused({"batch.mode=adaptive", "optim.kind=lars"}, "mode=fixed");
  refused({"batch.mode=adaptive", "optim.lr_rule=linear", "optim.base_batch=8"},
          "AdaScale");
  refused({"batch.mode=information"}, "batch.candidates");
  refused({"batch.mode=information", "batch.candidates=8,8.5"},
          "not a number of samples");
  refused({"batch.candidates=8,16"}, "mode=information");
  refused({"batch.decisions=d.jsonl"}, "mode=adaptive");
}

TEST(RunConfig, AutoIsSingleOnOneRankAndDdpOnMore) {
  const RunConfig config = parse_config(kBatch, "recipe", Sets{"comm.ranks=2"});
  EXPECT_EQ(word(config, "strategy.kind"), "auto");
  EXPECT_EQ(resolved(config.strategy.kind, 1), StrategyKind::single);
  EXPECT_EQ(resolved(config.strategy.kind, 2), StrategyKind::ddp);
  EXPECT_EQ(resolved(StrategyKind::sharded, 1), StrategyKind::sharded);
}

TEST(RunConfig, EveryFieldIsNamedOnceAndExplained) {
  RunConfig c;
  std::set<std::string> names;
  for (const Field& f : fields_of(c)) {
    EXPECT_TRUE(names.insert(f.dotted()).second) << f.dotted();
    EXPECT_FALSE(f.help.empty()) << f.dotted();
    // A default must be a value the field itself accepts.
    EXPECT_NO_THROW(f.set(f.get())) << f.dotted();
  }
}

}  // namespace
}  // namespace lockstep
