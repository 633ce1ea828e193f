// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/flat_buffers.h"

#include <ATen/ops/empty.h>
#include <torch/types.h>

#include <vector>

namespace lockstep {

FlatBuffers::FlatBuffers(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> buffers;
  std::int64_t numel = 0;
  for (const at::Tensor& buffer : module.buffers())
    if (buffer.defined() && buffer.scalar_type() == at::kFloat) {
      buffers.push_back(buffer);
      numel += buffer.numel();
    }
  if (numel == 0) return;
  values_ = at::empty({numel}, buffers.front().options());
  std::int64_t begin = 0;
  for (at::Tensor& buffer : buffers) {
    const at::Tensor place =
        values_.narrow(0, begin, buffer.numel()).view(buffer.sizes());
    place.copy_(buffer);
    buffer.set_data(place);
    begin += buffer.numel();
  }
}

}  // namespace lockstep
