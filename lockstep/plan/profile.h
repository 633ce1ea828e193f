// SPDX-License-Identifier: Apache-2.0
// A measured model: what each layer took on one device at two or more batch
// sizes. The public file profile.json (docs/profile.md), written by `lockstep
// profile` or tools/lockstep_profile.py, read by predict and advise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/config/train.h"
#include "lockstep/core/json.h"

namespace lockstep {

// Raised when an older reader would misread a file.
constexpr int kProfileSchema = 1;

struct ProfileLayer {
  std::string name, type;
  double activation_bytes = 0;  // of one sample, kept for backward
  double output_bytes = 0;      // of one sample, read by the next layer
  // One for each batch size of the profile, median of the steps timed.
  std::vector<double> forward_s, backward_s;
};

// What follows the last layer: the loss, and a head that uses the weights of a
// layer once more. Backward begins with it, before any gradient is there.
struct ProfileLoss {
  std::vector<double> forward_s, backward_s;  // one for each batch size
};

struct ProfileParam {
  std::string name;
  std::int64_t numel = 0;
  std::size_t layer = 0;  // position in Profile::layers
  std::int64_t rows = 0;  // first dimension, 1 of a vector; 0: not known
};

struct Profile {
  std::string model, device, software;
  Precision precision = Precision::fp32;
  std::vector<std::int64_t> batches;     // rising, two or more
  std::vector<ProfileLayer> layers;      // in the order of forward
  std::optional<ProfileLoss> loss = {};  // none: in step_s alone
  std::vector<ProfileParam> params;      // in the order of named_parameters()
  // Positions in `params` in the order in which backward fills gradients.
  std::vector<std::size_t> gradient_order;
  double buffer_bytes = 0;                   // running statistics
  double optimizer_bytes = 0;                // its state: momentum, moments
  double input_bytes = 0, output_bytes = 0;  // of one sample
  // Whole step with data already on the device, one for each batch size.
  std::vector<double> step_s;
  double optimizer_s = 0;
  // Of one rank while the others of its machine rest; none: the same.
  std::optional<double> optimizer_alone_s = {};
  // Samples a second that the host can load, decode and augment; 0: unknown.
  double input_samples_per_s = 0;
  double jitter = 0;  // standard deviation of a step over its mean
  // Peak device memory, one for each batch size; empty: unknown.
  std::vector<double> memory_bytes = {};
};

// "fp32", "tf32" or "bf16".
const char* word(Precision precision);

// Throws Error{Fault::config}: fewer than two batch sizes, lists of another
// length, a parameter of no layer, a negative or absurd time.
void validate(const Profile& profile, const std::string& name);

Profile profile_from_json(const Json& json, const std::string& name);
Json to_json(const Profile& profile);

Profile load_profile(const std::filesystem::path& path);
void save_profile(const std::filesystem::path& path, const Profile& profile);

}  // namespace lockstep
