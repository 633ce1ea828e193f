// SPDX-License-Identifier: Apache-2.0
// Tensors to and from safetensors files. Always written contiguous and from
// the CPU, so any framework reads them.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/model/module.h"

namespace lockstep {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

void save_tensors(const std::filesystem::path& file,
                  const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata);

// On the CPU, owning their memory.
std::map<std::string, at::Tensor> load_tensors(
    const std::filesystem::path& file);

// A module's parameters and buffers by their state-dict names.
NamedTensors state_of(torch::nn::Module& module);

// Copies a file's tensors into the module. Every name must be on both sides
// with the same shape, else Error{Fault::store} and the module is untouched.
void load_module(torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace lockstep
