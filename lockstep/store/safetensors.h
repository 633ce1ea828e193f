// SPDX-License-Identifier: Apache-2.0
// The safetensors format: eight bytes of header length, a JSON header, raw
// little-endian data. Knows bytes, types and shapes, no torch: the train half
// lays tensors over it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// A tensor as the file sees it. `data` is borrowed.
struct RawTensor {
  std::string name = {};
  std::string dtype = {};  // "F32", "F64", "F16", "BF16", "I64", "I32", "U8", …
  std::vector<std::int64_t> shape = {};
  const void* data = nullptr;
  std::int64_t bytes = 0;
};

// Beside the target, then renamed; Error{Fault::store} leaves the old intact.
void write_safetensors(const std::filesystem::path& file,
                       const std::vector<RawTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

// A file held in memory; its tensors point into it.
class SafetensorsFile {
 public:
  // Error{Fault::store} for a file that is missing, cut short, or whose header
  // claims what the file does not hold.
  explicit SafetensorsFile(const std::filesystem::path& file);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::vector<RawTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }
  // Null when there is none of that name.
  const RawTensor* find(const std::string& name) const;

 private:
  std::string bytes_;
  std::vector<RawTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace lockstep
