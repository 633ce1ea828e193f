// SPDX-License-Identifier: Apache-2.0
// The one list of what a checkpoint holds. Each part saves and loads itself;
// who adds something that must survive a restart adds a part here.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/train/tensor_file.h"

namespace lockstep {

// Where a part leaves what it knows: tensors and small values, each under the
// part's own name.
class StateWriter {
 public:
  void begin(const std::string& part) { part_ = part; }
  void put(const std::string& name, const at::Tensor& tensor) {
    tensors.emplace_back(part_ + "." + name, tensor);
  }
  void put(const std::string& name, const Json& value) {
    values[part_][name] = value;
  }

  NamedTensors tensors;
  Json values = Json::object();

 private:
  std::string part_;
};

class StateReader {
 public:
  StateReader(std::map<std::string, at::Tensor> tensors, Json values)
      : tensors_(std::move(tensors)), values_(std::move(values)) {}
  void begin(const std::string& part) { part_ = part; }
  // Error{Fault::store} when the checkpoint does not have it.
  const at::Tensor& tensor(const std::string& name) const;
  const Json& value(const std::string& name) const;
  bool has(const std::string& name) const;
  // Everything of the part.
  NamedTensors tensors() const;
  Json values() const;

 private:
  std::map<std::string, at::Tensor> tensors_;
  Json values_;
  std::string part_;
};

struct StatePart {
  std::string name;
  std::function<void(StateWriter&)> save;
  std::function<void(const StateReader&)> load;
};

using TrainState = std::vector<StatePart>;

}  // namespace lockstep
