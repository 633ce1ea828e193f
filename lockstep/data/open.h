// SPDX-License-Identifier: Apache-2.0
// How each kind of data is opened. open_data() chooses among these; only the
// check of files calls them too.
#pragma once

#include "lockstep/data/dataset.h"
#include "lockstep/data/locate.h"
#include "lockstep/data/split.h"

namespace lockstep {

DataSplit open_digits(const DataConfig& config, const Place& place);
DataSplit open_cifar10(const DataConfig& config, const Place& place);
DataSplit open_images(const DataConfig& config, const Place& place);
DataSplit open_text(const DataConfig& config, const ModelConfig& model,
                    const Place& place);
DataSplit open_synthetic(const DataConfig& config, const ModelConfig& model);

// A file that skip_broken left out, as the description lists it.
struct LeftOut {
  std::string file, reason;
};
Json to_json(const std::vector<LeftOut>& files);

}  // namespace lockstep
