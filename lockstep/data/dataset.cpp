// SPDX-License-Identifier: Apache-2.0
// Chooses the kind of data and checks that it fits the model.
#include "lockstep/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/core/error.h"
#include "lockstep/data/make.h"
#include "lockstep/data/open.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {
namespace {

DataSplit open_kind(const DataConfig& data, const ModelConfig& model) {
  if (data.kind == DataKind::synthetic) return open_synthetic(data, model);
  const Place place = locate_data(data.kind, data.path);
  DataSplit split;
  switch (data.kind) {
    case DataKind::digits:
      split = open_digits(data, place);
      break;
    case DataKind::cifar10:
      split = open_cifar10(data, place);
      break;
    case DataKind::images:
      split = open_images(data, place);
      break;
    case DataKind::text:
      split = open_text(data, model, place);
      break;
    case DataKind::synthetic:
      break;
  }
  split.description["found_by"] = place.found_by;
  split.description["synthetic_stand_in"] = is_stand_in(place.path);
  return split;
}

void check_fit(const SampleShape& shape, const DataConfig& data,
               const ModelConfig& model) {
  const std::vector<std::int64_t> wanted = input_shape(model);
  if (wanted != shape.input || shape.tokens != (model.kind == ModelKind::gpt))
    throw Error(Fault::config, "data.kind",
                fmt::format("{} samples are [{}], the model reads [{}]",
                            word_of(data.kind), fmt::join(shape.input, ", "),
                            fmt::join(wanted, ", ")),
                data.kind == DataKind::images
                    ? "set data.image_px to the model's size"
                    : "choose a model for this data, or data.kind = "
                      "\"synthetic\", which takes any shape");
  if (model.classes > 0 && model.classes < shape.classes && !shape.tokens)
    throw Error(Fault::config, "model.classes",
                fmt::format("{} outputs, but the data has {} classes",
                            model.classes, shape.classes),
                "0 takes as many as the data has");
}

// An augmentation that would silently do nothing is a setting not obeyed.
void check_settings(const DataConfig& data) {
  const bool changes = data.flip || data.flip_vertical || data.rotate_deg > 0 ||
                       data.brightness > 0 || data.crop_pad_px > 0;
  const bool images =
      data.kind == DataKind::images || data.kind == DataKind::cifar10;
  if (!images && (changes || !data.mean.empty() || !data.std.empty()))
    throw Error(Fault::config, "data.kind",
                fmt::format("{} knows no flip, rotation, brightness, crop, "
                            "mean or std",
                            word_of(data.kind)),
                "these are for images and cifar10");
  if (data.flip_alternate && !data.flip)
    throw Error(Fault::config, "data.flip_alternate",
                "says when to mirror, and nothing is mirrored",
                "set data.flip=true");
  if (data.crop_fill == CropFill::reflect &&
      (data.crop_pad_px == 0 || data.rotate_deg > 0))
    throw Error(Fault::config, "data.crop_fill",
                "reflect is for images that are cropped and not turned",
                "set data.crop_pad_px and leave data.rotate_deg at 0");
}

}  // namespace

bool Dataset::read_image(std::int64_t, Image&, std::int64_t*) const {
  return false;
}

DataSplit open_data(const DataConfig& data, const ModelConfig& model) {
  check_settings(data);
  DataSplit split = open_kind(data, model);
  check_fit(split.train->shape(), data, model);
  if (split.train->size() == 0)
    throw Error(Fault::data, word_of(data.kind), "no sample is left to train",
                "`lockstep data check` says what is wrong with the files");
  split.description["train_samples"] = split.train->size();
  split.description["validation_samples"] =
      split.validation ? split.validation->size() : 0;
  return split;
}

Json to_json(const std::vector<LeftOut>& files) {
  Json list = Json::array();
  for (const LeftOut& file : files)
    list.push_back({{"file", file.file}, {"reason", file.reason}});
  return list;
}

}  // namespace lockstep
