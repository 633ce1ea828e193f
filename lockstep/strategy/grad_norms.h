// SPDX-License-Identifier: Apache-2.0
// Squared norms of a step's gradient before and after it is averaged over
// passes or ranks: what the noise scale is made from. They stay on the device
// until they are read; gradients are left as they are, to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lockstep {

class GradNorms {
 public:
  // One rank: all gradients after the backward of each pass, settled. `share`
  // is the pass's weight in their sum. `more`: another pass follows.
  void add_pass(const at::Tensor& grads, std::int64_t samples, double share,
                bool more);

  // Several ranks: gradients of this rank that are about to be sent, then how
  // many samples they are from and with which weight.
  void add_sent(const at::Tensor& grads);
  void end_sent(std::int64_t samples, double share);

  // After averaging, before clipping. `shared`: this rank holds a share of the
  // average, all ranks together the whole.
  void add_whole(const at::Tensor& grads, bool shared = false);

  // Of a gradient over `samples` samples, as a mean over them.
  struct Part {
    at::Tensor sq;  // scalar, double
    std::int64_t samples = 0;
  };
  const std::vector<Part>& parts() const { return parts_; }
  const at::Tensor& whole_sq() const { return whole_sq_; }
  bool shared() const { return shared_; }

 private:
  std::vector<Part> parts_;
  at::Tensor before_;  // gradients up to the last pass
  at::Tensor sent_sq_, whole_sq_;
  bool shared_ = false;
};

}  // namespace lockstep
