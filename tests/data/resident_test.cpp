// SPDX-License-Identifier: Apache-2.0
// Sets on the device against the loader: the same batches, to the bit.
#include "lockstep/data/resident.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <numeric>

#include "lockstep/data/shard.h"

namespace lockstep {
namespace {

// Sample i is four times i; its class is i.
class Fours final : public Dataset {
 public:
  explicit Fours(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t, void* input,
            std::int64_t* target) const override {
    std::fill_n(static_cast<float*>(input), 4, static_cast<float>(index));
    *target = index;
  }

 private:
  const SampleShape shape_ = {.input = {2, 2}, .target = {}, .classes = 1000};
  const std::int64_t size_;
};

// Noise in images that are wider than high.
class Pictures final : public Dataset {
 public:
  static constexpr std::int64_t kWidth = 7, kHeight = 5;

  Pictures(std::int64_t size, const DataConfig& config)
      : size_(size), config_(config) {}
  std::int64_t size() const override { return size_; }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t seed, void* input,
            std::int64_t* target) const override {
    Image image;
    read_image(index, image, target);
    write_planes(image, draw_change(config_, seed), normalise_of(config_),
                 static_cast<float*>(input));
  }
  bool read_image(std::int64_t index, Image& image,
                  std::int64_t* target) const override {
    Random random(static_cast<std::uint64_t>(index));
    image.resize(kWidth, kHeight);
    for (std::uint8_t& byte : image.pixels)
      byte = static_cast<std::uint8_t>(random.below(256));
    *target = index % 10;
    return true;
  }

 private:
  const SampleShape shape_ = {
      .input = {3, kHeight, kWidth}, .target = {}, .classes = 10};
  const std::int64_t size_;
  const DataConfig config_;
};

DataConfig changing() {
  DataConfig config;
  config.flip = config.flip_vertical = true;
  config.crop_pad_px = 2;
  config.mean = {0.4, 0.5, 0.6};
  config.std = {0.2, 0.25, 0.3};
  return config;
}

SampleSeeds alternating(std::uint64_t seed, bool odd) {
  return {seed, SampleSeeds::Alternation{.seed = 77, .odd = odd}};
}

// An epoch from both, in batches of four.
void expect_equal(const DataConfig& config, const SampleSeeds& seeds) {
  const Pictures set(30, config);
  const std::vector<std::int64_t> order = epoch_order(30, 3, 1, true);
  Loader loader(set, order, {.batch = 4, .workers = 2, .seed = seeds});
  Resident resident(set, {.data = config, .augment = true});
  const at::Tensor places = resident.order(order, seeds);
  std::int64_t begin = 0;
  while (const auto expected = loader.next()) {
    const Batch got =
        resident.batch(places.narrow(0, begin, expected->samples), 0);
    EXPECT_TRUE(at::equal(got.inputs, expected->inputs)) << begin;
    EXPECT_TRUE(at::equal(got.targets, expected->targets)) << begin;
    begin += expected->samples;
  }
  EXPECT_EQ(begin, 30);
}

TEST(ResidentImages, AreTheLoadersToTheBit) {
  expect_equal(changing(), {9});
  DataConfig reflecting = changing();
  reflecting.crop_fill = CropFill::reflect;
  expect_equal(reflecting, {9});
  DataConfig alternate = changing();
  alternate.flip_alternate = true;
  expect_equal(alternate, alternating(9, false));
  expect_equal(alternate, alternating(9, true));
  DataConfig turning = changing();
  turning.rotate_deg = 40;
  turning.brightness = 0.5;
  expect_equal(turning, {9});
  expect_equal(DataConfig{}, {});
}

TEST(ResidentImages, AreBytesAndHeldBackOnesDoNotChange) {
  const Pictures set(6, changing());
  Resident resident(set, {.data = changing(), .augment = false});
  EXPECT_EQ(resident.bytes(), 6 * (7 * 5 * 4 + 8));
  std::vector<std::int64_t> all(6);
  std::iota(all.begin(), all.end(), 0);
  const at::Tensor order = resident.order(all, {5});
  EXPECT_TRUE(at::equal(order, resident.order(all, {6})));
  const at::Tensor once = resident.batch(order, 0).inputs.clone();
  EXPECT_TRUE(at::equal(resident.batch(order, 0).inputs, once));
}

TEST(Alternation, MirrorsAHalfThenTheOtherHalf) {
  DataConfig config;
  config.flip = config.flip_alternate = true;
  int first = 0;
  for (std::int64_t sample = 0; sample < 1000; ++sample) {
    const auto flip = [&](std::uint64_t epoch) {
      const SampleSeeds seeds = alternating(100 + epoch, epoch % 2 == 1);
      return draw_change(config, seeds.of(sample)).flip;
    };
    EXPECT_EQ(flip(0), !flip(1));
    EXPECT_EQ(flip(0), flip(2));
    first += flip(0) ? 1 : 0;
  }
  EXPECT_NEAR(first, 500, 80);
}

TEST(Reflection, GoesOnMirroredAtTheEdgesPixel) {
  Image image;
  image.resize(4, 1);
  for (std::uint8_t i = 0; i < 4; ++i) image.pixels[i * 4u] = i;
  std::vector<float> planes(12);
  const auto red = [&](std::int64_t shift) {
    write_planes(image, Change{.shift_x = shift, .reflect = true}, {},
                 planes.data());
    std::vector<int> levels;
    for (std::size_t x = 0; x < 4; ++x)
      levels.push_back(static_cast<int>(std::lround(planes[x] * 255)));
    return levels;
  };
  EXPECT_EQ(red(-2), (std::vector<int>{2, 1, 0, 1}));
  EXPECT_EQ(red(2), (std::vector<int>{2, 3, 2, 1}));
}

TEST(Resident, GathersTheSameSamples) {
  const Fours set(50);
  Resident resident(set, {.workers = 2});
  const at::Tensor order = resident.order(std::vector<std::int64_t>{4, 49, 4});
  const Batch batch = resident.batch(order, 0);
  EXPECT_EQ(batch.samples, 3);
  EXPECT_EQ(batch.inputs.sizes(), (std::vector<std::int64_t>{3, 2, 2}));
  EXPECT_EQ(batch.targets[1].item<std::int64_t>(), 49);
  EXPECT_EQ(batch.inputs[2][0][0].item<float>(), 4.0F);
  EXPECT_EQ(resident.bytes(), 50 * (16 + 8));
}

TEST(Resident, FillsTheSameMemoryAgain) {
  const Fours set(5);
  Resident resident(set, {.workers = 2});
  const at::Tensor order =
      resident.order(std::vector<std::int64_t>{4, 1, 3, 0, 2});
  const Batch first = resident.batch(order.narrow(0, 0, 2), 0);
  const void* memory = first.inputs.const_data_ptr();
  EXPECT_TRUE(first.in_place);
  EXPECT_EQ(first.targets[1].item<std::int64_t>(), 1);
  const Batch next = resident.batch(order.narrow(0, 2, 2), 0);
  EXPECT_EQ(next.inputs.const_data_ptr(), memory);
  EXPECT_EQ(next.targets[1].item<std::int64_t>(), 0);
  // Another pass of the step, and another size, have memory of their own.
  EXPECT_NE(resident.batch(order.narrow(0, 0, 2), 1).inputs.const_data_ptr(),
            memory);
  EXPECT_NE(resident.batch(order.narrow(0, 4, 1), 0).inputs.const_data_ptr(),
            memory);
}

}  // namespace
}  // namespace lockstep
