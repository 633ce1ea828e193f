// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "lockstep/data/make.h"
#include "tests/data/fixtures.h"
#include "tests/data/sets.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

DataSplit open_digits_in(const std::string& path, SplitKind split,
                         std::int64_t samples = 0) {
  DataConfig config = data_config(DataKind::digits, path, split);
  config.samples = samples;
  return open_data(config, model_config(ModelKind::linear));
}

struct Digits : ::testing::Test {
  Digits() { make_data(DataKind::digits, folder.path / "d", {.samples = 80}); }
  std::string path() const { return (folder.path / "d").string(); }
  TempFolder folder;
};

TEST_F(Digits, IndexZeroToFourIsHeldBack) {
  const DataSplit split = open_digits_in(path(), SplitKind::official);
  EXPECT_EQ(split.train->size(), 30);
  ASSERT_TRUE(split.validation);
  EXPECT_EQ(split.validation->size(), 50);
  EXPECT_EQ(split.train->shape().input, (std::vector<std::int64_t>{1, 12000}));
  EXPECT_EQ(split.train->shape().classes, 10);
}

TEST_F(Digits, AllTrainsOnEveryClipAndHoldsNothingBack) {
  const DataSplit split = open_digits_in(path(), SplitKind::all);
  EXPECT_EQ(split.train->size(), 80);
  EXPECT_FALSE(split.validation);
}

TEST_F(Digits, AFewSamplesComeEvenlyFromAllDigits) {
  const DataSplit split = open_digits_in(path(), SplitKind::all, 20);
  std::map<std::int64_t, int> seen;
  for (std::int64_t i = 0; i < 20; ++i)
    ++seen[read_sample(*split.train, i).target[0]];
  ASSERT_EQ(seen.size(), 10u);
  for (const auto& [digit, times] : seen) EXPECT_EQ(times, 2);
}

TEST_F(Digits, EachClipIsDividedByItsLargestValue) {
  const DataSplit split = open_digits_in(path(), SplitKind::all);
  for (std::int64_t i = 0; i < 80; ++i) {
    float peak = 0;
    for (const float v : read_sample(*split.train, i).input)
      peak = std::max(peak, std::abs(v));
    EXPECT_EQ(peak, 1.0F);
  }
}

TEST_F(Digits, LongClipsAreCutShortOnesPaddedAndSilenceStaysSilent) {
  const auto at = [&](const char* name) {
    return folder.path / "one" / (std::string(name) + ".wav");
  };
  std::filesystem::create_directories(folder.path / "one");
  write_wav(at("1_long_9"), std::vector<float>(20000, 0.25F), 8000);
  write_wav(at("2_short_9"), std::vector<float>(100, -0.5F), 8000);
  write_wav(at("3_silent_9"), std::vector<float>(100, 0.0F), 8000);
  const DataSplit split =
      open_digits_in((folder.path / "one").string(), SplitKind::all);
  EXPECT_THAT(read_sample(*split.train, 0).input, ::testing::Each(1.0F));
  const Sample brief = read_sample(*split.train, 1);
  EXPECT_EQ(brief.input[99], -1.0F);
  EXPECT_EQ(brief.input[100], 0.0F);
  EXPECT_EQ(brief.target[0], 2);
  EXPECT_THAT(read_sample(*split.train, 2).input, ::testing::Each(0.0F));
}

TEST_F(Digits, ABrokenClipStopsUnlessAsked) {
  write_file(folder.path / "d/recordings/7_synthetic_3.wav", "no sound");
  EXPECT_THAT(
      error_of(Fault::data, [&] { open_digits_in(path(), SplitKind::all); }),
      HasSubstr("7_synthetic_3.wav: cannot be read"));
  DataConfig config = data_config(DataKind::digits, path(), SplitKind::all);
  config.skip_broken = true;
  const DataSplit split = open_data(config, model_config(ModelKind::linear));
  EXPECT_EQ(split.train->size(), 79);
  ASSERT_EQ(split.description["left_out"].size(), 1u);
  EXPECT_EQ(split.description["left_out"][0]["file"], "7_synthetic_3.wav");
}

TEST_F(Digits, TheRecordSaysThatItIsAStandIn) {
  const DataSplit split = open_digits_in(path(), SplitKind::all);
  EXPECT_EQ(split.description["synthetic_stand_in"], true);
  EXPECT_EQ(split.description["found_by"], "data.path");
  EXPECT_EQ(split.description["train_samples"], 80);
}

TEST_F(Digits, AnEmptyFolderSaysWhatItShouldHold) {
  const TempFolder empty;
  EXPECT_THAT(
      error_of(Fault::data,
               [&] { open_digits_in(empty.path.string(), SplitKind::all); }),
      HasSubstr("{digit}_{speaker}_{index}.wav"));
}

// The real set where it is at hand: 2,000 clips, 200 of them the test part;
// else the stand-in, whose counts are known as well.
TEST_F(Digits, TheWholeSetHasItsKnownCounts) {
  const char* root = std::getenv("LOCKSTEP_DATA");
  const std::string real = root == nullptr ? "" : std::string(root) + "/fsdd";
  const bool there = std::filesystem::exists(real);
  RecordProperty("data", there ? "real" : "stand-in");
  const DataSplit split =
      open_digits_in(there ? real : path(), SplitKind::official);
  EXPECT_EQ(split.train->size(), there ? 1800 : 30);
  EXPECT_EQ(split.validation->size(), there ? 200 : 50);
}

}  // namespace
}  // namespace lockstep
