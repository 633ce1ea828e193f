// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/audio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <numbers>

#include "tests/data/fixtures.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::vector<float> sine(double hz, int rate_hz, int count) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i)
    out.push_back(static_cast<float>(
        0.5 * std::sin(2 * std::numbers::pi * hz * i / rate_hz)));
  return out;
}

// Away from the ends, where the window sees silence.
double largest_difference(const std::vector<float>& a,
                          const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 400; i + 400 < a.size(); ++i)
    most = std::max(
        most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

TEST(Resample, ATuneKeepsItsPitchAndLoudness) {
  for (const int from : {44100, 16000, 11025, 4000}) {
    const auto out = resample(sine(1000, from, from), from, 8000);
    ASSERT_EQ(out.size(), 8000u) << from;
    EXPECT_LT(largest_difference(out, sine(1000, 8000, 8000)), 2e-3) << from;
  }
}

// 6 kHz cannot be carried at 8 kHz; without a filter it would sound as 2 kHz.
TEST(Resample, WhatTheNewRateCannotCarryIsTakenOut) {
  const auto out = resample(sine(6000, 44100, 44100), 44100, 8000);
  EXPECT_LT(largest_difference(out, std::vector<float>(8000, 0.0F)), 1e-3);
}

TEST(ReadSound, ReadsWhatWasWritten) {
  const TempFolder folder;
  write_wav(folder.path / "a.wav", sine(440, 8000, 100), 8000);
  const auto sound = read_sound(folder.path / "a.wav", 8000);
  ASSERT_EQ(sound.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(sound[i], sine(440, 8000, 100)[i], 1e-4);
}

TEST(ReadSound, ChannelsAreAveraged) {
  const TempFolder folder;
  const std::string path = (folder.path / "stereo.wav").string();
  SF_INFO info = {};
  info.samplerate = 8000;
  info.channels = 2;
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  const float frames[] = {0.5F, 0.25F, -1.0F, 0.0F};
  sf_writef_float(file, frames, 2);
  sf_close(file);
  EXPECT_THAT(read_sound(path, 8000), ::testing::ElementsAre(0.375F, -0.5F));
}

TEST(ReadSound, ABrokenFileNamesItself) {
  const TempFolder folder;
  const auto path = folder.path / "b.wav";
  const auto fails = [&](const std::string& bytes) {
    write_file(path, bytes);
    return error_of(Fault::data, [&] { read_sound(path, 8000); });
  };
  write_wav(path, sine(440, 8000, 1000), 8000);
  const std::string good = read_file(path, Fault::data);
  EXPECT_THAT(fails(good.substr(0, 1000)),
              HasSubstr("b.wav: is cut short: 1000 of 2044 bytes"));
  EXPECT_THAT(fails(""), HasSubstr("b.wav: cannot be read"));
  EXPECT_THAT(fails("this is no sound"), HasSubstr("b.wav: cannot be read"));
  write_wav(path, {}, 8000);
  EXPECT_THAT(error_of(Fault::data, [&] { read_sound(path, 8000); }),
              HasSubstr("holds no sound"));
}

}  // namespace
}  // namespace lockstep
