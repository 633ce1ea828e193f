// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "lockstep/core/error.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

void write_two(const std::filesystem::path& file) {
  write_safetensors(
      file,
      {{.name = "w",
        .dtype = "F32",
        .shape = {2, 3},
        .data = kValues.data(),
        .bytes = 24},
       {.name = "none", .dtype = "I64", .shape = {0}, .data = nullptr}},
      {{"step", "12"}});
}

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_damage(const std::filesystem::path& file) {
  try {
    const SafetensorsFile read(file);
    FAIL() << "read a damaged file";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::store);
    EXPECT_NE(std::string(e.what()).find(file.string()), std::string::npos);
  }
}

TEST(Safetensors, ReadsWhatItWrote) {
  const TempDir dir;
  write_two(dir.path / "a.safetensors");
  const SafetensorsFile file(dir.path / "a.safetensors");
  ASSERT_EQ(file.tensors().size(), 2U);
  const RawTensor* w = file.find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(w->bytes, 24);
  std::vector<float> values(6);
  std::memcpy(values.data(), w->data, 24);
  EXPECT_EQ(values, kValues);
  EXPECT_EQ(file.metadata().at("step"), "12");
  EXPECT_EQ(file.find("x"), nullptr);
}

// Whatever the length it was cut to, and wherever a byte of the header is
// changed: an error that names the file, or the same tensors; never a crash.
TEST(Safetensors, AnyTruncationIsAnError) {
  const TempDir dir;
  write_two(dir.path / "a.safetensors");
  const std::string whole = slurp(dir.path / "a.safetensors");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(dir.path / "b.safetensors", std::ios::binary)
        << whole.substr(0, length);
    expect_damage(dir.path / "b.safetensors");
  }
}

TEST(Safetensors, AHeaderThatLiesIsAnError) {
  const TempDir dir;
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[9],"data_offsets":[0,24]}})";
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  std::ofstream(dir.path / "b.safetensors", std::ios::binary)
      << text << header << std::string(24, 'x');
  expect_damage(dir.path / "b.safetensors");
}

TEST(Safetensors, AFailedWriteLeavesTheOldFile) {
  const TempDir dir;
  write_two(dir.path / "a.safetensors");
  const std::string before = slurp(dir.path / "a.safetensors");
  std::filesystem::create_directory(dir.path / "a.safetensors.part");
  EXPECT_THROW(write_two(dir.path / "a.safetensors"), Error);
  EXPECT_EQ(slurp(dir.path / "a.safetensors"), before);
}

}  // namespace
}  // namespace lockstep
