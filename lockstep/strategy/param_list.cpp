// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/param_list.h"

namespace lockstep {

ParamList param_list(const FlatParams& params,
                     const torch::nn::Module& module) {
  ParamList out;
  for (const Slice& slice : params.slices()) out.numel.push_back(slice.numel);
  for (const at::Tensor& buffer : module.buffers())
    if (buffer.defined() && buffer.scalar_type() == at::kFloat)
      out.buffer_bytes += static_cast<std::int64_t>(buffer.nbytes());
  return out;
}

}  // namespace lockstep
