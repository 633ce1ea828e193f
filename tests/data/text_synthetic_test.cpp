// SPDX-License-Identifier: Apache-2.0
// Text as bytes, and made-up samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/data/fixtures.h"
#include "tests/data/sets.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelConfig gpt(std::int64_t context, std::int64_t vocab = 256) {
  ModelConfig model = model_config(ModelKind::gpt);
  model.context = context;
  model.vocab = vocab;
  return model;
}

struct Text : ::testing::Test {
  Text() { write_file(folder.path / "t.txt", "abcdefghijklmnopqrst"); }
  DataConfig config(SplitKind split) const {
    return data_config(DataKind::text, (folder.path / "t.txt").string(), split);
  }
  TempFolder folder;
};

TEST_F(Text, WindowsFollowEachOtherAndTargetsAreOneFurther) {
  const DataSplit split = open_data(config(SplitKind::all), gpt(4));
  EXPECT_EQ(split.train->size(), 4);  // the fifth would need a 21st byte
  const Sample second = read_sample(*split.train, 1);
  EXPECT_THAT(second.tokens, ElementsAre('e', 'f', 'g', 'h'));
  EXPECT_THAT(second.target, ElementsAre('f', 'g', 'h', 'i'));
  EXPECT_FALSE(split.validation);
}

TEST_F(Text, TheEndIsHeldBack) {
  DataConfig asked = config(SplitKind::random);
  asked.val_share = 0.25;
  const DataSplit split = open_data(asked, gpt(4));
  EXPECT_EQ(split.train->size(), 3);
  EXPECT_EQ(split.validation->size(), 1);
  EXPECT_THAT(read_sample(*split.validation, 0).tokens,
              ElementsAre('p', 'q', 'r', 's'));
}

TEST_F(Text, AFewWindowsAreSpreadOverTheText) {
  DataConfig asked = config(SplitKind::all);
  asked.samples = 2;
  const DataSplit split = open_data(asked, gpt(4));
  EXPECT_EQ(split.train->size(), 2);
  EXPECT_EQ(read_sample(*split.train, 1).tokens[0], 'i');
}

TEST_F(Text, TooShortOrOutsideTheVocabularyIsAnError) {
  EXPECT_THAT(error_of(Fault::data,
                       [&] { open_data(config(SplitKind::official), gpt(4)); }),
              HasSubstr("18 bytes to train and 2 held back"));
  EXPECT_THAT(error_of(Fault::config,
                       [&] { open_data(config(SplitKind::all), gpt(4, 100)); }),
              HasSubstr("model.vocab: 100 tokens"));
}

DataSplit synthetic(ModelKind kind, SplitKind split = SplitKind::random) {
  DataConfig config = data_config(DataKind::synthetic, "", split);
  config.synthetic_samples = 100;
  config.synthetic_classes = 5;
  return open_data(config, model_config(kind));
}

TEST(Synthetic, FitsEveryModel) {
  for (int kind = 0; kind <= static_cast<int>(ModelKind::gpt); ++kind) {
    const DataSplit split = synthetic(static_cast<ModelKind>(kind));
    EXPECT_EQ(split.train->size(), 80);
    EXPECT_EQ(split.validation->size(), 20);
  }
  EXPECT_EQ(synthetic(ModelKind::linear, SplitKind::all).train->size(), 100);
}

// The nearest mean of the training samples of a class names the class of every
// sample held back: a linear model can learn it.
TEST(Synthetic, CanBeLearnt) {
  const DataSplit split = synthetic(ModelKind::resnet18);
  std::vector<std::vector<double>> means(5, std::vector<double>(3072));
  for (std::int64_t i = 0; i < 80; ++i) {
    const Sample s = read_sample(*split.train, i);
    for (std::size_t k = 0; k < 3072; ++k)
      means[static_cast<std::size_t>(s.target[0])][k] +=
          static_cast<double>(s.input[k]) / 16;
  }
  for (std::int64_t i = 0; i < 20; ++i) {
    const Sample s = read_sample(*split.validation, i);
    std::map<double, std::int64_t> by_distance;
    for (std::size_t c = 0; c < 5; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < 3072; ++k)
        sum += std::pow(static_cast<double>(s.input[k]) - means[c][k], 2);
      by_distance[sum] = static_cast<std::int64_t>(c);
    }
    EXPECT_EQ(by_distance.begin()->second, s.target[0]);
  }
}

TEST(Synthetic, SaysItsStatisticsAndTheyAreRight) {
  const DataSplit split = synthetic(ModelKind::linear);
  const Json& values = split.description["values"];
  EXPECT_NEAR(values["mean"].get<double>(), 0, 0.01);
  // Waves of variance 1 and noise of variance 0.25.
  EXPECT_NEAR(values["std"].get<double>(), std::sqrt(1.25), 0.02);
  EXPECT_EQ(split.description["noise_std"], 0.5F);
}

TEST(Synthetic, AnotherSeedIsAnotherSet) {
  DataConfig config = data_config(DataKind::synthetic, "", SplitKind::all);
  const ModelConfig model = model_config(ModelKind::linear);
  const auto first = read_sample(*open_data(config, model).train, 3).input;
  EXPECT_EQ(read_sample(*open_data(config, model).train, 3).input, first);
  config.synthetic_seed = 1;
  EXPECT_NE(read_sample(*open_data(config, model).train, 3).input, first);
}

// Counted over 100 windows of 256 tokens: what follows a token is one of four,
// and the average surprise is the lowest loss the description promises.
TEST(Synthetic, TextHasTheEntropyItSays) {
  const DataSplit split = synthetic(ModelKind::gpt, SplitKind::all);
  std::map<std::int64_t, std::map<std::int64_t, double>> follows;
  double total = 0;
  for (std::int64_t i = 0; i < split.train->size(); ++i) {
    const Sample s = read_sample(*split.train, i);
    for (std::size_t k = 0; k < s.tokens.size(); ++k, ++total)
      ++follows[s.tokens[k]][s.target[k]];
  }
  double surprise = 0;
  for (const auto& [token, next] : follows) {
    EXPECT_LE(next.size(), 4u);
    double times = 0;
    for (const auto& [after, n] : next) times += n;
    for (const auto& [after, n] : next) surprise -= n * std::log(n / times);
  }
  EXPECT_NEAR(surprise / total,
              split.description["lowest_loss_nats"].get<double>(), 0.03);
}

TEST(Synthetic, ASettingItCannotObeyIsAnError) {
  DataConfig config = data_config(DataKind::synthetic, "");
  config.flip = true;
  EXPECT_THAT(
      error_of(Fault::config,
               [&] { open_data(config, model_config(ModelKind::resnet18)); }),
      HasSubstr("synthetic knows no flip"));
}

}  // namespace
}  // namespace lockstep
