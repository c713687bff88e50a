#include "transport/verbs/ibverbs_group.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

// 20 ms until a SEND that found no receive is repeated: longer than a thread
// needs to notice a peer that exceeds its credit, and to cut it off.
constexpr uint8_t kReceiverNotReadyTimer = 22;
constexpr int kNoAccess = 0;
constexpr size_t kReceivesPerCall = 64;

// Marks in the device's ids the completions of receives.
constexpr uint64_t kReceived = 1;

class IbverbsGroupPair final : public GroupPair {
 public:
  IbverbsGroupPair(std::shared_ptr<IbverbsGroup> group, IbvPair pair, int port,
                   size_t max_inline)
      : group_(std::move(group)),
        port_(port),
        max_inline_(max_inline),
        pair_(std::move(pair)) {}

  uint32_t number() const override { return pair_->qp_num; }
  size_t max_inline() const override { return max_inline_; }

  absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                       const PairAddress& peer,
                       const PairPatience& patience) override {
    return ConnectQueuePair(pair_.get(), {port_, own_gid, own, peer, patience,
                                          kReceiverNotReadyTimer});
  }

  absl::Status Send(const GroupSend& send) override {
    ibv_sge piece = {reinterpret_cast<uint64_t>(send.from.data()),
                     static_cast<uint32_t>(send.from.size()), send.key};
    ibv_send_wr request = {};
    request.wr_id = send.id << 1;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    if (send.signaled) request.send_flags |= IBV_SEND_SIGNALED;
    if (send.inlined) request.send_flags |= IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    const int error = ::ibv_post_send(pair_.get(), &request, &bad);
    if (error == 0) return absl::OkStatus();
    return IbvError(absl::StatusCode::kUnavailable, "ibv_post_send", error);
  }

  void Stop() override { StopQueuePair(pair_.get()); }

 private:
  const std::shared_ptr<IbverbsGroup> group_;
  const int port_;
  const size_t max_inline_;
  const IbvPair pair_;  // before what it uses, in the group
};

}  // namespace

absl::StatusOr<std::shared_ptr<VerbsGroup>> IbverbsGroup::Create(
    std::shared_ptr<VerbsDevice> device, ibv_context* context, int port,
    const GroupSize& size) {
  auto made = std::shared_ptr<IbverbsGroup>(
      new IbverbsGroup(std::move(device), port, size));
  RETURN_IF_ERROR(made->FitTo(context));
  RETURN_IF_ERROR(made->Allocate(context));
  return made;
}

absl::Status IbverbsGroup::FitTo(ibv_context* context) {
  ibv_device_attr limits = {};
  const int error = ::ibv_query_device(context, &limits);
  if (error != 0) {
    return IbvError(absl::StatusCode::kUnavailable, device_->name(), error);
  }
  if (limits.max_srq < 1) {
    return absl::UnimplementedError(
        absl::StrCat(device_->name(), " has no shared receive queues"));
  }
  size_.max_pairs = std::min({size_.max_pairs, limits.max_qp,
                              limits.max_srq_wr / size_.receives,
                              limits.max_cqe / (size_.receives + size_.sends)});
  if (size_.max_pairs < 1 || limits.max_qp_wr < size_.sends) {
    return absl::ResourceExhaustedError(
        absl::StrCat(device_->name(), " has queues too small to be shared"));
  }
  return absl::OkStatus();
}

absl::Status IbverbsGroup::Allocate(ibv_context* context) {
  const auto failed = [](const char* what) {
    return IbvError(absl::StatusCode::kResourceExhausted, what, errno);
  };
  domain_.reset(::ibv_alloc_pd(context));
  if (domain_ == nullptr) return failed("ibv_alloc_pd");
  channel_.reset(::ibv_create_comp_channel(context));
  if (channel_ == nullptr) return failed("ibv_create_comp_channel");
  const int fd = channel_->fd;
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
    return failed("completion channel");
  }
  // No context: its events are the group's, not a pair's.
  queue_.reset(::ibv_create_cq(context,
                               size_.max_pairs * (size_.receives + size_.sends),
                               /*cq_context=*/nullptr, channel_.get(), 0));
  if (queue_ == nullptr) return failed("ibv_create_cq");
  ibv_srq_init_attr wish = {};
  wish.attr.max_wr = static_cast<uint32_t>(size_.max_pairs * size_.receives);
  wish.attr.max_sge = 1;
  receives_.reset(::ibv_create_srq(domain_.get(), &wish));
  if (receives_ == nullptr) return failed("ibv_create_srq");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GroupPair>> IbverbsGroup::CreatePair() {
  // If the device supports less inline data, uses less.
  for (uint32_t inlined = static_cast<uint32_t>(size_.max_inline);;
       inlined /= 2) {
    ibv_qp_init_attr wish = {};
    wish.qp_type = IBV_QPT_RC;
    wish.send_cq = wish.recv_cq = queue_.get();
    wish.srq = receives_.get();
    wish.cap.max_send_wr = static_cast<uint32_t>(size_.sends);
    wish.cap.max_send_sge = 1;
    wish.cap.max_inline_data = inlined;
    IbvPair pair(::ibv_create_qp(domain_.get(), &wish));
    if (pair != nullptr) {
      RETURN_IF_ERROR(InitializeQueuePair(pair.get(), port_, kNoAccess));
      return std::make_unique<IbverbsGroupPair>(
          shared_from_this(), std::move(pair), port_,
          std::min<size_t>(wish.cap.max_inline_data, size_.max_inline));
    }
    if (inlined == 0) {
      return IbvError(absl::StatusCode::kResourceExhausted, "ibv_create_qp",
                      errno);
    }
  }
}

absl::StatusOr<uint32_t> IbverbsGroup::Register(absl::Span<std::byte> memory) {
  // The device writes what peers send; no peer has a key to it.
  IbvMemory made(::ibv_reg_mr(domain_.get(), memory.data(), memory.size(),
                              IBV_ACCESS_LOCAL_WRITE));
  if (made == nullptr) {
    return IbvError(absl::StatusCode::kResourceExhausted,
                    absl::StrCat("register ", memory.size(), " bytes"), errno);
  }
  const uint32_t key = made->lkey;
  absl::MutexLock lock(&mu_);
  memory_.push_back(std::move(made));
  return key;
}

absl::Status IbverbsGroup::PostReceives(
    absl::Span<const GroupReceive> receives) {
  std::array<ibv_recv_wr, kReceivesPerCall> requests;
  std::array<ibv_sge, kReceivesPerCall> pieces;
  while (!receives.empty()) {
    const size_t now = std::min(receives.size(), kReceivesPerCall);
    for (size_t i = 0; i < now; ++i) {
      const GroupReceive& one = receives[i];
      pieces[i] = {reinterpret_cast<uint64_t>(one.into.data()),
                   static_cast<uint32_t>(one.into.size()), one.key};
      requests[i] = {};
      requests[i].wr_id = one.id << 1 | kReceived;
      requests[i].sg_list = &pieces[i];
      requests[i].num_sge = 1;
      requests[i].next = i + 1 < now ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    const int error =
        ::ibv_post_srq_recv(receives_.get(), requests.data(), &bad);
    if (error != 0) {
      return IbvError(absl::StatusCode::kUnavailable, "ibv_post_srq_recv",
                      error);
    }
    receives.remove_prefix(now);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> IbverbsGroup::Poll(
    absl::Span<GroupCompletion> completions) {
  std::array<ibv_wc, 64> found;
  const int most = static_cast<int>(std::min(found.size(), completions.size()));
  const int count = ::ibv_poll_cq(queue_.get(), most, found.data());
  if (count < 0) return absl::UnavailableError("ibv_poll_cq failed");
  for (int i = 0; i < count; ++i) {
    GroupCompletion& one = completions[i];
    const bool failed = found[i].status != IBV_WC_SUCCESS;
    one.pair = found[i].qp_num;
    one.received = (found[i].wr_id & kReceived) != 0;
    one.id = found[i].wr_id >> 1;
    one.bytes = one.received && !failed ? found[i].byte_len : 0;
    one.error = failed ? ::ibv_wc_status_str(found[i].status) : nullptr;
  }
  return static_cast<size_t>(count);
}

absl::Status IbverbsGroup::Arm() {
  const int error = ::ibv_req_notify_cq(queue_.get(), 0);
  if (error == 0) return absl::OkStatus();
  return IbvError(absl::StatusCode::kUnavailable, "ibv_req_notify_cq", error);
}

void IbverbsGroup::TakeEvents() {
  ibv_cq* queue;
  void* unused;
  unsigned int count = 0;
  while (::ibv_get_cq_event(channel_.get(), &queue, &unused) == 0) ++count;
  // Destroying the queue waits for this.
  if (count != 0) ::ibv_ack_cq_events(queue_.get(), count);
}

}  // namespace kamino::transport
