// SPDX-License-Identifier: Apache-2.0
// A set of samples that can be read one by one, in any order, from many
// threads. Decoding and augmentation happen in read(); order, batches and
// prefetching are the loader's business.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/config/data.h"
#include "lockstep/config/model.h"
#include "lockstep/core/json.h"

namespace lockstep {

struct Image;

// What one sample looks like. Inputs are float32, or int64 tokens for text.
struct SampleShape {
  std::vector<std::int64_t> input;   // [1, 12000], [3, 224, 224], [context]
  std::vector<std::int64_t> target;  // empty: one class index; [context]: text
  std::int64_t classes = 0;          // or size of the vocabulary
  bool tokens = false;               // inputs are int64 tokens
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  virtual std::int64_t size() const = 0;
  virtual const SampleShape& shape() const = 0;

  // Writes sample `index` to `input` (floats, or int64 tokens) and its class
  // or tokens to `target`. All randomness comes from `seed`, so the result
  // does not depend on which thread asks. Throws Error{Fault::data} that names
  // the file. Thread safe.
  virtual void read(std::int64_t index, std::uint64_t seed, void* input,
                    std::int64_t* target) const = 0;

  // Sets of images: the sample before chance and normalisation, and its class.
  // False: samples are something else. Thread safe.
  virtual bool read_image(std::int64_t index, Image& image,
                          std::int64_t* target) const;
};

// Training and validation part, and what the record says of them (source,
// counts, checksums or the statistics of synthetic data, files left out).
struct DataSplit {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> validation;  // null when nothing is held back
  Json description;
};

// Opens what the settings ask for, shaped as the model wants it. Throws
// Error{Fault::data} when it is not there, with how to get it.
DataSplit open_data(const DataConfig& data, const ModelConfig& model);

}  // namespace lockstep
