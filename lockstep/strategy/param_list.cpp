// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>

#include "lockstep/strategy/param_list.h"

#include "lockstep/model/batch_norm.h"

namespace lockstep {

ParamList param_list(const FlatParams& params, torch::nn::Module& module) {
  ParamList out;
  for (const at::Tensor& p : params.params()) {
    out.numel.push_back(p.numel());
    out.rows.push_back(p.dim() > 1 ? p.size(0) : 1);
  }
  for (const at::Tensor& buffer : module.buffers())
    if (buffer.defined() && buffer.scalar_type() == at::kFloat)
      out.buffer_bytes += static_cast<std::int64_t>(buffer.nbytes());
  for (const BatchNorm2dImpl* norm : batch_norms(module))
    out.norm_channels.push_back(norm->options.num_features());
  return out;
}

}  // namespace lockstep
