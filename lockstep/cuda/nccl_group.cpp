// SPDX-License-Identifier: Apache-2.0
// Ranks with a GPU each, over NCCL. Messages move on a stream of their own
// between two events; tensors in the host's memory travel through the device.
// NCCL adds 16-bit numbers as such, in an order of its own.
#include "lockstep/cuda/nccl_group.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <cstring>

#include "lockstep/comm/device_exchange.h"
#include "lockstep/comm/layout.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/cuda/nccl_watch.h"

namespace lockstep {
namespace {

void nccl_check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw Error(Fault::peer, "nccl",
              fmt::format("{}: {}", what, ncclGetErrorString(result)),
              "NCCL_DEBUG=INFO makes NCCL say more");
}

ncclDataType_t type_of(WireType type) {
  switch (type) {
    case WireType::fp32:
      return ncclFloat32;
    case WireType::fp16:
      return ncclFloat16;
    case WireType::bf16:
      return ncclBfloat16;
    case WireType::int64:
      return ncclInt64;
  }
  check(false, "every type has NCCL's name");
  return ncclFloat32;
}

struct NcclTransfer final : Transfer {
  explicit NcclTransfer(c10::DeviceType type)
      : events(std::make_shared<NcclEvents>(type)) {}
  double issued_s = 0;
  std::shared_ptr<NcclEvents> events;
  // What to bring back to the host; undefined for tensors on the device.
  at::Tensor result, host;
  bool host_waits = false;
};

// One collective on one stream. Tensors are on the device.
class Launch {
 public:
  Launch(const Layout& layout, const Call& call, int rank, ncclComm_t comm,
         cudaStream_t stream)
      : layout_(layout),
        call_(call),
        rank_(rank),
        ranks_(static_cast<int>(layout.begin.size()) - 1),
        type_(type_of(layout.type)),
        comm_(comm),
        stream_(stream) {}

  void run() const {
    const auto numel = static_cast<std::size_t>(layout_.numel);
    void* whole = at(call_.tensor, 0);
    switch (layout_.op) {
      case Collective::all_reduce:
        return nccl_check(
            ncclAllReduce(whole, whole, numel, type_, ncclSum, comm_, stream_),
            "all_reduce");
      case Collective::reduce:
        return nccl_check(ncclReduce(whole, whole, numel, type_, ncclSum,
                                     layout_.root, comm_, stream_),
                          "reduce");
      case Collective::broadcast:
        return nccl_check(ncclBroadcast(whole, whole, numel, type_,
                                        layout_.root, comm_, stream_),
                          "broadcast");
      case Collective::barrier:
        return;
      default:
        break;
    }
    nccl_check(ncclGroupStart(), "group");
    for (int r = 0; r < ranks_; ++r) share(r);
    nccl_check(ncclGroupEnd(), "group");
  }

 private:
  void* at(const at::Tensor& t, std::int64_t element) const {
    if (!t.defined()) return nullptr;
    return static_cast<char*>(t.data_ptr()) + element * bytes_of(layout_.type);
  }

  // Rank r's share, which may be of another size than the next one's.
  void share(int r) const {
    const std::int64_t begin = layout_.begin[static_cast<std::size_t>(r)];
    const auto numel = static_cast<std::size_t>(layout_.share(r));
    const bool own = r == rank_, root = rank_ == layout_.root;
    if (numel == 0) return;
    switch (layout_.op) {
      case Collective::reduce_scatter:
        return nccl_check(ncclReduce(at(call_.input, begin),
                                     own ? at(call_.tensor, 0) : nullptr, numel,
                                     type_, ncclSum, r, comm_, stream_),
                          "reduce_scatter");
      case Collective::all_gather:
        return nccl_check(ncclBroadcast(own ? at(call_.input, 0) : nullptr,
                                        at(call_.tensor, begin), numel, type_,
                                        r, comm_, stream_),
                          "all_gather");
      case Collective::scatter:
        if (root)
          nccl_check(
              ncclSend(at(call_.input, begin), numel, type_, r, comm_, stream_),
              "scatter");
        if (own)
          nccl_check(ncclRecv(at(call_.tensor, 0), numel, type_, layout_.root,
                              comm_, stream_),
                     "scatter");
        return;
      case Collective::gather:
        if (own)
          nccl_check(ncclSend(at(call_.input, 0), numel, type_, layout_.root,
                              comm_, stream_),
                     "gather");
        if (root)
          nccl_check(ncclRecv(at(call_.tensor, begin), numel, type_, r, comm_,
                              stream_),
                     "gather");
        return;
      default:
        check(false, "a collective of shares");
    }
  }

  const Layout& layout_;
  const Call& call_;
  int rank_, ranks_;
  ncclDataType_t type_;
  ncclComm_t comm_;
  cudaStream_t stream_;
};

class NcclGroup final : public Group {
 public:
  explicit NcclGroup(const NcclRank& rank)
      : rank_(rank.rank),
        size_(rank.size),
        device_(c10::kCUDA, static_cast<c10::DeviceIndex>(rank.device)),
        comm_(join(rank)),
        watch_(comm_, rank.deadline_s) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string backend() const override { return "nccl"; }
  bool lets_capture() const override { return true; }

  TransferHandle start(const Call& call) override {
    watch_.check_sound();
    auto sent = std::make_shared<NcclTransfer>(device_.type());
    sent->issued_s = now_s();
    const c10::cuda::CUDAGuard guard(device_);
    const c10::Stream lane = lane_.stream_on(device_);
    sent->events->ready.record(
        c10::cuda::getCurrentCUDAStream(device_.index()).unwrap());
    sent->events->ready.block(lane);
    const c10::StreamGuard on_lane(lane);
    const Call moved = on_device(call) ? call : staged(call, *sent);
    const Layout layout = layout_of(moved, rank_, size_);
    sent->events->begin.record(lane);
    Launch(layout, moved, rank_, comm_, c10::cuda::CUDAStream(lane).stream())
        .run();
    sent->events->end.record(lane);
    keep(moved, lane);
    watch_.add(sent->events);
    return sent;
  }

  void wait(const TransferHandle& handle) override {
    const NcclTransfer& sent = own(handle);
    const c10::cuda::CUDAGuard guard(device_);
    if (sent.host_waits) {
      sent.events->end.synchronize();
      // Not on the caller's stream, whose work is none of its business.
      const c10::StreamGuard on_lane(lane_.stream_on(device_));
      if (sent.result.defined()) sent.host.copy_(sent.result);
    } else {
      sent.events->end.block(
          c10::cuda::getCurrentCUDAStream(device_.index()).unwrap());
    }
    watch_.check_sound();
  }

  TransferTimes times(const TransferHandle& handle) override {
    const NcclTransfer& sent = own(handle);
    const TransferTimes out{.issued_s = sent.issued_s,
                            .begin_s = lane_.seconds(sent.events->begin),
                            .end_s = lane_.seconds(sent.events->end)};
    watch_.check_sound();
    return out;
  }

 private:
  static ncclComm_t join(const NcclRank& rank) {
    const c10::cuda::CUDAGuard guard(
        static_cast<c10::DeviceIndex>(rank.device));
    ncclUniqueId id;
    static_assert(sizeof(id) == sizeof(rank.id));
    std::memcpy(&id, rank.id.data(), sizeof(id));
    ncclComm_t comm = nullptr;
    nccl_check(ncclCommInitRank(&comm, rank.size, id, rank.rank),
               "joining the group");
    return comm;
  }

  static const NcclTransfer& own(const TransferHandle& handle) {
    const auto* mine = dynamic_cast<const NcclTransfer*>(handle.get());
    check(mine != nullptr, "a transfer belongs to the group that started it");
    return *mine;
  }

  // The call with its tensors on the device. A barrier sends one number.
  Call staged(const Call& call, NcclTransfer& sent) const {
    Call out = call;
    sent.host_waits = true;
    if (call.op == Collective::barrier) {
      out.op = Collective::all_reduce;
      out.tensor = at::zeros({1}, at::TensorOptions(at::kLong).device(device_));
      return out;
    }
    if (call.input.defined()) out.input = call.input.to(device_);
    if (call.tensor.defined()) {
      out.tensor = call.tensor.to(device_);
      sent.result = out.tensor, sent.host = call.tensor;
    }
    return out;
  }

  // The allocator must not hand their memory out before the lane is done.
  static void keep(const Call& call, c10::Stream lane) {
    for (const at::Tensor& t : {call.tensor, call.input})
      if (t.defined() && t.numel() > 0) t.record_stream(lane);
  }

  int rank_, size_;
  c10::Device device_;
  ncclComm_t comm_;
  NcclWatch watch_;
  DeviceLane lane_;
};

}  // namespace

std::unique_ptr<Group> make_nccl_group(const NcclRank& rank) {
  return std::make_unique<NcclGroup>(rank);
}

}  // namespace lockstep

extern "C" void lockstep_nccl_id(lockstep::NcclId* id) {
  using namespace lockstep;
  ncclUniqueId made;
  static_assert(sizeof(made) == sizeof(*id));
  nccl_check(ncclGetUniqueId(&made), "making an id");
  std::memcpy(id->data(), &made, sizeof(made));
}

extern "C" lockstep::Group* lockstep_nccl_group(
    const lockstep::NcclRank* rank) {
  return lockstep::make_nccl_group(*rank).release();
}
