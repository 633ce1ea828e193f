// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/layout.h"

#include <fmt/format.h>

#include <numeric>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse_call(const Call& call, const std::string& what) {
  throw Error(Fault::internal, std::string(word(call.op)), what,
              "see the table in lockstep/comm/group.h");
}

WireType wire_type(const Call& call, const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return WireType::fp32;
    case at::kHalf:
      return WireType::fp16;
    case at::kBFloat16:
      return WireType::bf16;
    case at::kLong:
      return WireType::int64;
    default:
      refuse_call(call, fmt::format("cannot send {}",
                                    c10::toString(tensor.scalar_type())));
  }
}

bool has_shares(Collective op) {
  return op == Collective::reduce_scatter || op == Collective::all_gather ||
         op == Collective::scatter || op == Collective::gather;
}

// The tensor that every rank must bring, and the only one that all have.
const at::Tensor& certain(const Call& call) {
  return call.op == Collective::all_gather || call.op == Collective::gather
             ? call.input
             : call.tensor;
}

std::vector<std::int64_t> ends_of(const Call& call, int ranks,
                                  std::int64_t numel) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    begin[r + 1] =
        begin[r] + (call.shares.empty()
                        ? share_of(numel, ranks, static_cast<std::int64_t>(r))
                        : call.shares[r]);
  return begin;
}

void check_tensor(const Call& call, const at::Tensor& t, WireType type,
                  std::int64_t numel, const char* name) {
  if (!t.defined()) refuse_call(call, fmt::format("{} is missing", name));
  if (!t.is_contiguous())
    refuse_call(call, fmt::format("{} is not contiguous", name));
  if (wire_type(call, t) != type)
    refuse_call(call, "input and tensor differ in type");
  if (t.numel() != numel)
    refuse_call(call, fmt::format("{} has {} elements, it needs {}", name,
                                  t.numel(), numel));
}

// Without `shares` only a rank that holds the whole knows its size; gather and
// scatter of uneven shares must say them.
std::int64_t whole_of(const Call& call, int rank, int ranks) {
  if (!call.shares.empty())
    return std::accumulate(call.shares.begin(), call.shares.end(),
                           std::int64_t{0});
  switch (call.op) {
    case Collective::reduce_scatter:
      return call.input.defined() ? call.input.numel() : 0;
    case Collective::all_gather:
      return call.tensor.defined() ? call.tensor.numel() : 0;
    case Collective::scatter:
      if (rank == call.root && call.input.defined()) return call.input.numel();
      return call.tensor.numel() * ranks;
    case Collective::gather:
      if (rank == call.root && call.tensor.defined())
        return call.tensor.numel();
      return call.input.numel() * ranks;
    default:
      return call.tensor.numel();
  }
}

}  // namespace

std::int64_t Layout::share(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return begin[r + 1] - begin[r];
}

std::int64_t Layout::bytes() const { return numel * bytes_of(type); }

Layout layout_of(const Call& call, int rank, int ranks) {
  if (call.root < 0 || call.root >= ranks)
    refuse_call(call,
                fmt::format("there is no rank {} to be the root", call.root));
  Layout out{.op = call.op, .root = call.root};
  if (call.op == Collective::barrier) return out;
  if (!call.shares.empty() &&
      (!has_shares(call.op) ||
       call.shares.size() != static_cast<std::size_t>(ranks)))
    refuse_call(
        call, fmt::format("{} shares for {} ranks", call.shares.size(), ranks));
  if (!certain(call).defined()) refuse_call(call, "a tensor is missing");
  out.type = wire_type(call, certain(call));
  out.numel = whole_of(call, rank, ranks);
  if (!has_shares(call.op)) {
    check_tensor(call, call.tensor, out.type, out.numel, "tensor");
    return out;
  }
  out.begin = ends_of(call, ranks, out.numel);
  const bool in_whole =
      call.op == Collective::reduce_scatter || call.op == Collective::scatter;
  const bool everywhere = call.op == Collective::reduce_scatter ||
                          call.op == Collective::all_gather;
  const bool whole_here = everywhere || rank == call.root;
  if (in_whole || whole_here)
    check_tensor(call, call.tensor, out.type,
                 in_whole ? out.share(rank) : out.numel, "tensor");
  if (!in_whole || whole_here)
    check_tensor(call, call.input, out.type,
                 in_whole ? out.numel : out.share(rank), "input");
  return out;
}

std::byte* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::byte*>(tensor.data_ptr())
                          : nullptr;
}

std::string to_text(const Layout& layout) {
  if (layout.op == Collective::barrier) return "barrier";
  return fmt::format("{} of {} {}", word(layout.op), layout.numel,
                     word(layout.type));
}

}  // namespace lockstep
