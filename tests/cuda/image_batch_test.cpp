// SPDX-License-Identifier: Apache-2.0
// Batches of images made on the GPU. Reference: the same set on the CPU, which
// tests/data compares with the loader.
#include <gtest/gtest.h>

#include <numeric>

#include "lockstep/data/resident.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

class Pictures final : public Dataset {
 public:
  Pictures(std::int64_t height, std::int64_t width)
      : shape_{.input = {3, height, width}, .target = {}, .classes = 10} {}
  std::int64_t size() const override { return 50; }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t, std::uint64_t, void*, std::int64_t*) const override {}
  bool read_image(std::int64_t index, Image& image,
                  std::int64_t* target) const override {
    Random random(static_cast<std::uint64_t>(index));
    image.resize(shape_.input[2], shape_.input[1]);
    for (std::uint8_t& byte : image.pixels)
      byte = static_cast<std::uint8_t>(random.below(256));
    *target = index % 10;
    return true;
  }

 private:
  const SampleShape shape_;
};

struct ImageCase {
  std::int64_t height, width;
  CropFill fill;
  bool bf16, last;
  double rotate_deg = 0, brightness = 0;
};

void compare_images(const ImageCase& c) {
  DataConfig config;
  config.flip = config.flip_vertical = true;
  config.crop_pad_px = 3;
  config.crop_fill = c.fill;
  config.rotate_deg = c.rotate_deg;
  config.brightness = c.brightness;
  config.mean = {0.4, 0.5, 0.6};
  config.std = {0.2, 0.25, 0.3};
  const Pictures set(c.height, c.width);
  Resident here(set, {.data = config, .augment = true});
  Resident there(set, {.device = gpu().torch(),
                       .data = config,
                       .augment = true,
                       .bf16 = c.bf16,
                       .channels_last = c.last});
  std::vector<std::int64_t> samples(37);
  std::iota(samples.begin(), samples.end(), 5);
  const Batch want = here.batch(here.order(samples, {3}).narrow(0, 2, 33), 0);
  const Batch got = there.batch(there.order(samples, {3}).narrow(0, 2, 33), 0);
  EXPECT_TRUE(got.inputs.is_contiguous(c.last ? at::MemoryFormat::ChannelsLast
                                              : at::MemoryFormat::Contiguous));
  const at::Tensor rounded =
      c.bf16 ? want.inputs.to(at::kBFloat16) : want.inputs;
  EXPECT_EQ(got.inputs.scalar_type(), rounded.scalar_type());
  EXPECT_TRUE(at::equal(got.inputs.cpu().contiguous(), rounded));
  EXPECT_TRUE(at::equal(got.targets.cpu(), want.targets));
}

using ImageBatchOnGpu = GpuTest;

TEST_F(ImageBatchOnGpu, IsTheCpusToTheBit) {
  for (const CropFill fill : {CropFill::black, CropFill::reflect})
    for (const bool bf16 : {false, true})
      for (const bool last : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "fill " << static_cast<int>(fill) << " bf16 " << bf16
                     << " channels last " << last);
        compare_images({32, 32, fill, bf16, last});
        compare_images({5, 7, fill, bf16, last});
      }
}

TEST_F(ImageBatchOnGpu, IsTurnedAndMadeBrighterToTheBit) {
  for (const bool bf16 : {false, true})
    for (const double degrees : {1.0, 20.0, 180.0}) {
      SCOPED_TRACE(::testing::Message() << degrees << " degrees");
      compare_images({32, 32, CropFill::black, bf16, true, degrees, 0.3});
      compare_images({5, 7, CropFill::black, bf16, false, degrees, 0.9});
    }
}

}  // namespace
}  // namespace lockstep
