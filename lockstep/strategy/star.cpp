// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/star.h"

#include <ATen/ATen.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// The whole vector goes to, or comes from, rank `other`, and nothing else
// moves: a message between two.
TransferHandle between(Group& group, Collective op, int other,
                       const at::Tensor& values, const at::Tensor& arrived) {
  Call call{.op = op};
  call.shares.assign(static_cast<std::size_t>(group.size()), 0);
  call.shares[static_cast<std::size_t>(other)] = values.numel();
  const bool root = group.rank() == 0, meant = group.rank() == other;
  const at::Tensor nothing = values.narrow(0, 0, 0);
  if (op == Collective::scatter) {
    call.tensor = meant ? values : nothing;
    if (root) call.input = values;
  } else {
    call.input = meant ? values : nothing;
    if (root) call.tensor = arrived;
  }
  const TransferHandle handle = group.start(call);
  group.wait(handle);
  return handle;
}

std::vector<TransferHandle> send_out(Group& group, const at::Tensor& values) {
  std::vector<TransferHandle> out;
  for (int r = 1; r < group.size(); ++r)
    out.push_back(between(group, Collective::scatter, r, values, {}));
  return out;
}

std::vector<TransferHandle> add_up(Group& group, const at::Tensor& values) {
  std::vector<TransferHandle> out;
  const bool root = group.rank() == 0;
  const at::Tensor arrived = root ? at::empty_like(values) : at::Tensor();
  const at::Tensor sum = root ? values.to(at::kFloat) : at::Tensor();
  for (int r = 1; r < group.size(); ++r) {
    out.push_back(between(group, Collective::gather, r, values, arrived));
    if (root) sum.add_(arrived);
  }
  if (root) values.copy_(sum);  // fp32: the same tensor, nothing to do
  return out;
}

}  // namespace

std::vector<TransferHandle> run_star(Group& group, const Call& call) {
  const bool out = call.op == Collective::broadcast;
  check((out || call.op == Collective::reduce) && call.root == 0 &&
            group.size() > 1,
        "a star is a broadcast or a reduce of rank 0");
  return out ? send_out(group, call.tensor) : add_up(group, call.tensor);
}

}  // namespace lockstep
