// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/gather_rows.h"

#include <ATen/ops/empty.h>

#include <numeric>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Words of each rank, known to all.
std::vector<std::int64_t> sizes_of(Group& group, std::int64_t mine) {
  const at::Tensor own = at::empty({1}, at::kLong);
  const at::Tensor all = at::empty({group.size()}, at::kLong);
  *own.data_ptr<std::int64_t>() = mine;
  group.run({.op = Collective::all_gather, .tensor = all, .input = own});
  const auto* first = all.const_data_ptr<std::int64_t>();
  return {first, first + group.size()};
}

}  // namespace

std::vector<std::vector<std::byte>> gather_bytes(
    Group& group, std::span<const std::byte> mine) {
  constexpr std::size_t kWord = sizeof(std::int64_t);
  check(mine.size() % kWord == 0, "rows are whole words");
  if (group.size() == 1) return {{mine.begin(), mine.end()}};
  const auto words = static_cast<std::int64_t>(mine.size() / kWord);
  Call call{.op = Collective::gather,
            .input = at::empty({words}, at::kLong),
            .shares = sizes_of(group, words)};
  if (words > 0) std::memcpy(call.input.data_ptr(), mine.data(), mine.size());
  const bool root = group.rank() == 0;
  if (root)
    call.tensor =
        at::empty({std::accumulate(call.shares.begin(), call.shares.end(),
                                   std::int64_t{0})},
                  at::kLong);
  group.run(call);
  std::vector<std::vector<std::byte>> out;
  if (!root) return out;
  const auto* at = static_cast<const std::byte*>(call.tensor.const_data_ptr());
  for (const std::int64_t share : call.shares) {
    const std::ptrdiff_t bytes = share * static_cast<std::ptrdiff_t>(kWord);
    out.emplace_back(at, at + bytes);
    at += bytes;
  }
  return out;
}

}  // namespace lockstep
