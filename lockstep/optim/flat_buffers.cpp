// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/flat_buffers.h"

#include <ATen/ops/empty.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <vector>

namespace lockstep {
namespace {

// They are views of one flat tensor already, without gaps.
bool lie_together(const std::vector<at::Tensor>& buffers) {
  const at::Tensor& first = buffers.front();
  std::int64_t at = first.storage_offset();
  for (const at::Tensor& buffer : buffers) {
    if (!buffer.is_alias_of(first) || buffer.storage_offset() != at)
      return false;
    at += buffer.numel();
  }
  return true;
}

}  // namespace

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
  if (lie_together(buffers)) {
    values_ = at::empty({0}, buffers.front().options());
    values_.set_(buffers.front().storage(), buffers.front().storage_offset(),
                 {numel}, {1});
    return;
  }
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
