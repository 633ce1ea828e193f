// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/loader.h"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Sample i is (i, low bits of its seed, 0, 0); its class is i. Some are slow,
// some broken.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t size, std::vector<std::int64_t> broken = {})
      : size_(size), broken_(std::move(broken)) {}

  std::int64_t size() const override { return size_; }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t seed, void* input,
            std::int64_t* target) const override {
    ++reads;
    if (index % 7 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (const std::int64_t bad : broken_)
      if (bad == index)
        throw Error(Fault::data, "file " + std::to_string(index), "is broken");
    auto* out = static_cast<float*>(input);
    out[0] = static_cast<float>(index);
    out[1] = static_cast<float>(seed & 0xffff);
    out[2] = out[3] = 0;
    *target = index;
  }

  mutable std::atomic<int> reads = 0;

 private:
  const SampleShape shape_ = {.input = {2, 2}, .target = {}, .classes = 1000};
  const std::int64_t size_;
  const std::vector<std::int64_t> broken_;
};

std::vector<std::int64_t> order_of(std::int64_t size) {
  return epoch_order(size, 11, 0, true);
}

std::vector<Batch> all_batches(Loader& loader) {
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(*batch);
  return batches;
}

class LoaderWith : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, LoaderWith, ::testing::Values(0, 1, 2, 4));

TEST_P(LoaderWith, GivesTheOrderInBatchesAndASmallerLastOne) {
  const Numbers set(23);
  const auto order = order_of(23);
  Loader loader(set, order, {.batch = 5, .workers = GetParam(), .seed = {3}});
  std::vector<std::int64_t> seen;
  const auto batches = all_batches(loader);
  ASSERT_EQ(batches.size(), 5u);
  EXPECT_EQ(batches[4].samples, 3);
  EXPECT_EQ(batches[4].inputs.sizes(), (std::vector<std::int64_t>{3, 2, 2}));
  for (const Batch& batch : batches)
    for (std::int64_t i = 0; i < batch.samples; ++i) {
      seen.push_back(batch.targets[i].item<std::int64_t>());
      EXPECT_EQ(batch.inputs[i][0][0].item<float>(),
                static_cast<float>(seen.back()));
    }
  EXPECT_EQ(seen, order);
  EXPECT_FALSE(loader.next().has_value());
}

TEST_P(LoaderWith, GivesTheSameBitsAsWithoutWorkers) {
  const Numbers set(100);
  Loader alone(set, order_of(100), {.batch = 8, .workers = 0, .seed = {5}});
  Loader many(set, order_of(100),
              {.batch = 8, .workers = GetParam(), .seed = {5}});
  while (auto expected = alone.next()) {
    const auto batch = many.next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_TRUE(at::equal(batch->inputs, expected->inputs));
    EXPECT_TRUE(at::equal(batch->targets, expected->targets));
  }
}

TEST_P(LoaderWith, AnErrorComesAtItsBatchAndTheNextCallGoesOn) {
  const Numbers set(20, {6, 7});
  std::vector<std::int64_t> order(20);
  std::iota(order.begin(), order.end(), 0);
  Loader loader(set, order, {.batch = 4, .workers = GetParam()});
  EXPECT_EQ(loader.next()->targets[0].item<std::int64_t>(), 0);
  try {
    loader.next();
    FAIL() << "sample 6 is broken";
  } catch (const Error& e) {
    // Both are bad; the first is named, whoever read faster.
    EXPECT_THAT(e.what(), HasSubstr("file 6"));
  }
  EXPECT_EQ(loader.next()->targets[0].item<std::int64_t>(), 8);
}

TEST_P(LoaderWith, AShareWithEmptyBatchesKeepsItsSteps) {
  const Numbers set(9);
  const Share share =
      share_of(order_of(9), {.global_batch = 4, .ranks = 4, .rank = 3});
  Loader loader(set, share, {.workers = GetParam()});
  const auto batches = all_batches(loader);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[2].samples, 0);
  EXPECT_EQ(batches[2].inputs.sizes(), (std::vector<std::int64_t>{0, 2, 2}));
}

TEST_P(LoaderWith, CanBeLeftInTheMiddle) {
  const Numbers set(1000);
  Loader loader(set, order_of(1000), {.batch = 10, .workers = GetParam()});
  loader.next();
}

TEST(Loader, ReadsNoFurtherAheadThanAsked) {
  const Numbers set(1000);
  Loader loader(set, order_of(1000), {.batch = 10, .workers = 2, .ahead = 3});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(set.reads, 30);
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(set.reads, 40);
}

TEST(Loader, UsesMemoryAgainOnlyWhenNobodyHoldsIt) {
  const Numbers set(1000);
  Loader loader(set, order_of(1000), {.batch = 10, .workers = 1, .ahead = 1});
  std::set<const void*> places;
  const Batch kept = *loader.next();
  const at::Tensor copy = kept.inputs.clone();
  const at::Tensor view = loader.next()->inputs.narrow(0, 2, 3);
  const at::Tensor view_copy = view.clone();
  while (auto batch = loader.next())
    places.insert(batch->inputs.const_data_ptr());
  EXPECT_TRUE(at::equal(kept.inputs, copy));
  EXPECT_TRUE(at::equal(view, view_copy));
  EXPECT_LE(places.size(), 3u);
}

}  // namespace
}  // namespace lockstep
