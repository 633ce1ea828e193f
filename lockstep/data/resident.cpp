// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/resident.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <numeric>

#include "lockstep/core/error.h"

namespace lockstep {

Resident::Resident(const Dataset& dataset, c10::Device device,
                   std::int64_t workers) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset.size()));
  std::iota(order.begin(), order.end(), 0);
  Loader loader(dataset, std::move(order),
                {.batch = std::max<std::int64_t>(dataset.size(), 1),
                 .workers = workers,
                 .ahead = 1});
  const std::optional<Batch> whole = loader.next();
  check(whole.has_value(), "a resident set has samples");
  all_ = {whole->inputs.to(device), whole->targets.to(device), whole->samples};
}

at::Tensor Resident::index(std::span<const std::int64_t> samples) const {
  const auto count = static_cast<std::int64_t>(samples.size());
  at::Tensor index = at::empty({count}, at::TensorOptions().dtype(at::kLong));
  std::copy(samples.begin(), samples.end(),
            index.mutable_data_ptr<std::int64_t>());
  return index.to(all_.inputs.device());
}

Batch Resident::batch(std::span<const std::int64_t> samples) const {
  const at::Tensor numbers = index(samples);
  return {all_.inputs.index_select(0, numbers),
          all_.targets.index_select(0, numbers), numbers.numel()};
}

Batch Resident::batch(const at::Tensor& index, std::size_t pass) {
  Batch& out = given_[{pass, index.numel()}];
  if (!out.inputs.defined()) {
    out = {all_.inputs.index_select(0, index),
           all_.targets.index_select(0, index), index.numel(),
           /*in_place=*/true};
    return out;
  }
  at::index_select_out(out.inputs, all_.inputs, 0, index);
  at::index_select_out(out.targets, all_.targets, 0, index);
  return out;
}

std::int64_t Resident::bytes() const {
  return static_cast<std::int64_t>(all_.inputs.nbytes() +
                                   all_.targets.nbytes());
}

}  // namespace lockstep
