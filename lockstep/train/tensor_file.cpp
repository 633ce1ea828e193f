// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/tensor_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include <array>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/store/safetensors.h"

namespace lockstep {
namespace {

constexpr std::array<std::pair<at::ScalarType, const char*>, 7> kTypes = {{
    {at::kFloat, "F32"},
    {at::kDouble, "F64"},
    {at::kHalf, "F16"},
    {at::kBFloat16, "BF16"},
    {at::kLong, "I64"},
    {at::kInt, "I32"},
    {at::kByte, "U8"},
}};

std::string name_of(at::ScalarType type) {
  for (const auto& [torch, name] : kTypes)
    if (torch == type) return name;
  throw Error(Fault::internal, "safetensors",
              fmt::format("cannot hold type {}", at::toString(type)));
}

at::ScalarType type_of(const RawTensor& raw, const std::string& file) {
  for (const auto& [torch, name] : kTypes)
    if (raw.dtype == name) return torch;
  throw Error(Fault::store, file,
              fmt::format("tensor {} has type {}, which is not read here",
                          raw.name, raw.dtype));
}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

void save_tensors(const std::filesystem::path& file,
                  const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> held;
  std::vector<RawTensor> raw;
  for (const auto& [name, tensor] : tensors) {
    held.push_back(tensor.detach().to(at::kCPU).contiguous());
    const at::Tensor& t = held.back();
    raw.push_back({.name = name,
                   .dtype = name_of(t.scalar_type()),
                   .shape = t.sizes().vec(),
                   .data = t.data_ptr(),
                   .bytes = static_cast<std::int64_t>(t.nbytes())});
  }
  write_safetensors(file, raw, metadata);
}

std::map<std::string, at::Tensor> load_tensors(
    const std::filesystem::path& file) {
  const SafetensorsFile read(file);
  std::map<std::string, at::Tensor> out;
  for (const RawTensor& raw : read.tensors()) {
    at::Tensor t = at::empty(raw.shape, type_of(raw, file.string()));
    if (raw.bytes > 0)
      std::memcpy(t.data_ptr(), raw.data, static_cast<std::size_t>(raw.bytes));
    out.emplace(raw.name, std::move(t));
  }
  return out;
}

NamedTensors state_of(torch::nn::Module& module) {
  NamedTensors out;
  for (const auto& item : module.named_parameters())
    out.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers())
    out.emplace_back(item.key(), item.value());
  return out;
}

void load_module(torch::nn::Module& module, const std::filesystem::path& file) {
  const auto loaded = load_tensors(file);
  const NamedTensors mine = state_of(module);
  const auto fail = [&](const std::string& what) {
    throw Error(Fault::store, file.string(), what,
                "it belongs to another model; `lockstep summary` shows names "
                "and shapes");
  };
  for (const auto& [name, tensor] : mine) {
    const auto found = loaded.find(name);
    if (found == loaded.end()) fail(fmt::format("has no tensor '{}'", name));
    if (found->second.sizes() != tensor.sizes())
      fail(fmt::format("tensor '{}' is {}, the model's is {}", name,
                       shape_text(found->second.sizes()),
                       shape_text(tensor.sizes())));
  }
  if (loaded.size() != mine.size())
    fail(fmt::format("holds {} tensors, the model has {}", loaded.size(),
                     mine.size()));
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : mine) tensor.copy_(loaded.at(name));
}

}  // namespace lockstep
