// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/resident.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/kernels/gpu_table.h"

namespace lockstep {
namespace {

at::Tensor empty_tensor(
    at::IntArrayRef sizes, at::ScalarType type,
    c10::Device device = c10::Device(c10::DeviceType::CPU)) {
  return at::empty(sizes, at::TensorOptions().dtype(type).device(device));
}

bool has_images(const Dataset& dataset) {
  Image image;
  std::int64_t target = 0;
  return dataset.size() > 0 && dataset.read_image(0, image, &target);
}

constexpr std::int64_t kRow = sizeof(ImagePlace) / sizeof(std::int32_t);

}  // namespace

Resident::Resident(const Dataset& dataset, const ResidentOptions& options)
    : options_(options), images_(has_images(dataset)) {
  check(dataset.size() > 0, "a resident set has samples");
  images_ ? hold_images(dataset) : hold_samples(dataset);
}

void Resident::hold_images(const Dataset& dataset) {
  normalise_ = normalise_of(options_.data);
  const std::int64_t size = dataset.size();
  const SampleShape& shape = dataset.shape();
  const at::Tensor pixels =
      empty_tensor({size, shape.input[1], shape.input[2], 4}, at::kByte);
  const at::Tensor classes = empty_tensor({size}, at::kLong);
  auto* const bytes = pixels.mutable_data_ptr<std::uint8_t>();
  auto* const targets = classes.mutable_data_ptr<std::int64_t>();
  const std::int64_t each = shape.input[1] * shape.input[2] * 4;
  at::parallel_for(0, size, 64, [&](std::int64_t begin, std::int64_t end) {
    Image image;
    for (std::int64_t i = begin; i < end; ++i) {
      dataset.read_image(i, image, targets + i);
      std::memcpy(bytes + i * each, image.pixels.data(),
                  static_cast<std::size_t>(each));
    }
  });
  inputs_ = pixels.to(options_.device);
  targets_ = classes.to(options_.device);
}

void Resident::hold_samples(const Dataset& dataset) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), 0);
  Loader loader(
      dataset, std::move(all),
      {.batch = dataset.size(), .workers = options_.workers, .ahead = 1});
  const std::optional<Batch> whole = loader.next();
  check(whole.has_value(), "a resident set has samples");
  inputs_ = whole->inputs.to(options_.device);
  targets_ = whole->targets.to(options_.device);
}

at::Tensor Resident::order(std::span<const std::int64_t> samples,
                           const SampleSeeds& seeds) const {
  const at::Tensor order =
      empty_tensor({static_cast<std::int64_t>(samples.size()), kRow}, at::kInt);
  auto* row = order.mutable_data_ptr<std::int32_t>();
  for (const std::int64_t sample : samples) {
    ImagePlace place;
    if (images_ && options_.augment)
      place = place_of(draw_change(options_.data, seeds.of(sample)),
                       inputs_.size(2), inputs_.size(1));
    place.image = static_cast<std::int32_t>(sample);
    std::memcpy(row, &place, sizeof place);
    row += kRow;
  }
  return order.to(options_.device);
}

Batch Resident::room_for(std::int64_t samples) const {
  std::vector<std::int64_t> inputs = inputs_.sizes().vec();
  std::vector<std::int64_t> targets = targets_.sizes().vec();
  inputs[0] = targets[0] = samples;
  at::TensorOptions how = inputs_.options();
  if (images_) {
    const bool gpu = inputs_.is_cuda();
    inputs = {samples, 3, inputs_.size(1), inputs_.size(2)};
    how = how.dtype(gpu && options_.bf16 ? at::kBFloat16 : at::kFloat);
    if (gpu && options_.channels_last)
      how = how.memory_format(at::MemoryFormat::ChannelsLast);
  }
  return {at::empty(inputs, how), at::empty(targets, targets_.options()),
          samples, /*in_place=*/true};
}

Batch Resident::batch(const at::Tensor& order, std::size_t pass) {
  Batch& out = given_[{pass, order.size(0)}];
  if (!out.inputs.defined()) out = room_for(order.size(0));
  if (images_) {
    fill_images(order, out);
  } else {
    const at::Tensor index = order.select(1, kRow - 1);
    at::index_select_out(out.inputs, inputs_, 0, index);
    at::index_select_out(out.targets, targets_, 0, index);
  }
  return out;
}

void Resident::fill_images(const at::Tensor& order, const Batch& to) const {
  const bool reflect = options_.data.crop_fill == CropFill::reflect;
  if (inputs_.is_cuda()) {
    ImageBatch work{.pixels = inputs_,
                    .classes = targets_,
                    .order = order,
                    .reflect = reflect,
                    .inputs = to.inputs,
                    .targets = to.targets};
    for (std::size_t c = 0; c < 3; ++c) {
      const Levels levels = levels_of(normalise_, c, 1);
      work.gain[c] = levels.gain, work.white[c] = levels.white;
      work.offset[c] = levels.offset;
    }
    return gpu_table().image_batch(work);
  }
  auto* inputs = to.inputs.mutable_data_ptr<float>();
  Image image;
  image.resize(inputs_.size(2), inputs_.size(1));
  for (std::int64_t i = 0; i < to.samples; ++i) {
    ImagePlace place;
    std::memcpy(static_cast<void*>(&place),
                order.const_data_ptr<std::int32_t>() + i * kRow, sizeof place);
    const std::size_t bytes = image.pixels.size();
    std::memcpy(image.pixels.data(),
                inputs_.const_data_ptr<std::uint8_t>() +
                    static_cast<std::size_t>(place.image) * bytes,
                bytes);
    write_planes(image, place, reflect, normalise_, inputs);
    inputs += 3 * image.width * image.height;
    to.targets.mutable_data_ptr<std::int64_t>()[i] =
        targets_.const_data_ptr<std::int64_t>()[place.image];
  }
}

at::Tensor first_images(const DataConfig& config, const Dataset& dataset,
                        std::int64_t count) {
  const std::vector<std::int64_t>& shape = dataset.shape().input;
  const std::int64_t size = std::min(count, dataset.size());
  const at::Tensor out =
      empty_tensor({size, shape.at(0), shape.at(1), shape.at(2)}, at::kFloat);
  auto* to = out.mutable_data_ptr<float>();
  const std::int64_t each = shape[0] * shape[1] * shape[2];
  const Normalise normalise = normalise_of(config);
  Image image;
  std::int64_t target = 0;
  for (std::int64_t i = 0; i < size; ++i, to += each)
    if (dataset.read_image(i, image, &target))
      write_planes(image, Change{}, normalise, to);
    else
      dataset.read(i, 0, to, &target);  // made up, and the same every time
  return out;
}

std::int64_t Resident::bytes() const {
  return static_cast<std::int64_t>(inputs_.nbytes() + targets_.nbytes());
}

}  // namespace lockstep
