// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/train_state.h"

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

[[noreturn]] void missing(const std::string& part, const std::string& name) {
  throw Error(Fault::store, "checkpoint", "has no '" + part + "." + name + "'",
              "it was written by another version of lockstep");
}

}  // namespace

const at::Tensor& StateReader::tensor(const std::string& name) const {
  const auto found = tensors_.find(part_ + "." + name);
  if (found == tensors_.end()) missing(part_, name);
  return found->second;
}

bool StateReader::has(const std::string& name) const {
  return values_.contains(part_) && values_.at(part_).contains(name);
}

NamedTensors StateReader::tensors() const {
  NamedTensors out;
  for (const auto& [name, tensor] : tensors_)
    if (name.starts_with(part_ + "."))
      out.emplace_back(name.substr(part_.size() + 1), tensor);
  return out;
}

Json StateReader::values() const {
  return values_.contains(part_) ? values_.at(part_) : Json::object();
}

const Json& StateReader::value(const std::string& name) const {
  if (!has(name)) missing(part_, name);
  return values_.at(part_).at(name);
}

}  // namespace lockstep
