// SPDX-License-Identifier: Apache-2.0
// Synthetic stand-ins in the formats of the real sets, for machines without
// them. A marker file says what they are; open_data() repeats it in the record.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lockstep/config/data.h"

namespace lockstep {

struct MakeOptions {
  std::int64_t samples = 200;  // files, records, or lines of text
  std::int64_t classes = 5;    // of images; digits and cifar10 have 10
  std::int64_t px = 256;       // shorter side of images
  std::int64_t seed = 0;
};

// Writes into `folder`, which must be new or empty (Error{Fault::store}).
// digits: recordings/*.wav. cifar10: the six .bin files. images: train/ and
// val/ with a folder for each class. text: input.txt.
void make_data(DataKind kind, const std::filesystem::path& folder,
               const MakeOptions& options);

// True where make_data wrote the folder (or the file lies in such a folder).
bool is_stand_in(const std::filesystem::path& path);

}  // namespace lockstep
