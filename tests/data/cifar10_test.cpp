// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/data/make.h"
#include "tests/data/fixtures.h"
#include "tests/data/sets.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

struct Cifar10 : ::testing::Test {
  Cifar10() {
    make_data(DataKind::cifar10, folder.path / "c", {.samples = 60});
  }
  DataConfig config() const {
    return data_config(DataKind::cifar10, (folder.path / "c").string());
  }
  DataSplit open(const DataConfig& asked) const {
    return open_data(asked, model_config(ModelKind::resnet18));
  }
  TempFolder folder;
};

TEST_F(Cifar10, FiveFilesTrainTheSixthIsHeldBack) {
  const DataSplit split = open(config());
  EXPECT_EQ(split.train->size(), 50);
  EXPECT_EQ(split.validation->size(), 10);
  EXPECT_EQ(split.train->shape().input, (std::vector<std::int64_t>{3, 32, 32}));
}

// The record's bytes are label, red, green, blue.
TEST_F(Cifar10, PixelsAreTheBytesOver255) {
  const DataSplit split = open(config());
  const std::string bytes =
      read_file(folder.path / "c/data_batch_2.bin", Fault::data);
  const Sample sample = read_sample(*split.train, 12);  // record 2 of file 2
  const std::size_t record = 2 * 3073;
  EXPECT_EQ(sample.target[0], bytes[record]);
  for (const std::size_t at : {0, 1, 31, 1024, 3071})
    EXPECT_NEAR(sample.input[at] * 255,
                static_cast<std::uint8_t>(bytes[record + 1 + at]), 1e-4);
}

TEST_F(Cifar10, ChanceTouchesTrainingImagesOnly) {
  DataConfig asked = config();
  asked.flip = true;
  asked.crop_pad_px = 4;
  const DataSplit split = open(asked);
  EXPECT_NE(read_sample(*split.train, 0, 1).input,
            read_sample(*split.train, 0, 2).input);
  EXPECT_EQ(read_sample(*split.train, 0, 1).input,
            read_sample(*split.train, 0, 1).input);
  EXPECT_EQ(read_sample(*split.validation, 0, 1).input,
            read_sample(*split.validation, 0, 2).input);
}

TEST_F(Cifar10, AFileCutShortOrMissingNamesItself) {
  const auto file = folder.path / "c/data_batch_3.bin";
  const std::string bytes = read_file(file, Fault::data);
  write_file(file, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(error_of(Fault::data, [&] { open(config()); }),
              HasSubstr("data_batch_3.bin: has 30729 bytes"));
  std::filesystem::remove(file);
  EXPECT_THAT(error_of(Fault::data, [&] { open(config()); }),
              HasSubstr("data_batch_3.bin: cannot be read"));
}

TEST_F(Cifar10, AWrongLabelNamesItsRecord) {
  const auto file = folder.path / "c/test_batch.bin";
  std::string bytes = read_file(file, Fault::data);
  bytes[3073] = 11;
  write_file(file, bytes);
  EXPECT_THAT(error_of(Fault::data, [&] { open(config()); }),
              HasSubstr("test_batch.bin: record 1 has label 11"));
}

TEST_F(Cifar10, ThePackedFormSaysHowToUnpackIt) {
  std::filesystem::create_directories(folder.path / "p/packed-jxl");
  const DataConfig asked =
      data_config(DataKind::cifar10, (folder.path / "p").string());
  EXPECT_THAT(error_of(Fault::data, [&] { open(asked); }),
              ::testing::AllOf(HasSubstr("packed form only"),
                               HasSubstr("unpack it: python3"),
                               HasSubstr("libjxl-tools")));
}

TEST_F(Cifar10, AModelOfAnotherSizeIsRefused) {
  EXPECT_THAT(
      error_of(Fault::config,
               [&] { open_data(config(), model_config(ModelKind::resnet50)); }),
      HasSubstr("samples are [3, 32, 32], the model reads [3, 224"));
  ModelConfig model = model_config(ModelKind::resnet18);
  model.classes = 5;
  EXPECT_THAT(error_of(Fault::config, [&] { open_data(config(), model); }),
              HasSubstr("model.classes: 5 outputs, but the data has 10"));
}

TEST_F(Cifar10, SettingsThatWouldChangeNothingAreRefused) {
  DataConfig asked = config();
  asked.flip_alternate = true;
  EXPECT_THAT(error_of(Fault::config, [&] { open(asked); }),
              HasSubstr("data.flip_alternate"));
  asked = config();
  asked.crop_fill = CropFill::reflect;
  EXPECT_THAT(error_of(Fault::config, [&] { open(asked); }),
              HasSubstr("data.crop_fill"));
}

}  // namespace
}  // namespace lockstep
