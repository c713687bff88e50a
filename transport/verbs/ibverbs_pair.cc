#include "transport/verbs/ibverbs_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

// Marks a receive; writes are numbered from one.
constexpr uint64_t kReceiveId = ~uint64_t{0};
constexpr size_t kWritesPerCall = 16;
constexpr int kReceivesPerCall = 64;
// 0.64 ms until a write that found no receive is repeated.
constexpr uint8_t kReceiverNotReadyTimer = 12;
constexpr int kPeerWrites = IBV_ACCESS_REMOTE_WRITE;

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsPair>> IbverbsPair::Create(
    std::shared_ptr<VerbsDevice> device, ibv_context* context, int port,
    const PairSize& size) {
  auto made = absl::WrapUnique(new IbverbsPair(std::move(device), port));
  const auto failed = [](const char* what) {
    return IbvError(absl::StatusCode::kResourceExhausted, what, errno);
  };
  made->domain_.reset(::ibv_alloc_pd(context));
  if (made->domain_ == nullptr) return failed("ibv_alloc_pd");
  made->channel_.reset(::ibv_create_comp_channel(context));
  if (made->channel_ == nullptr) return failed("ibv_create_comp_channel");
  const int fd = made->channel_->fd;
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
    return failed("completion channel");
  }
  made->queue_.reset(::ibv_create_cq(context,
                                     size.max_writes + size.max_receives,
                                     made.get(), made->channel_.get(), 0));
  if (made->queue_ == nullptr) return failed("ibv_create_cq");
  absl::Status status = made->CreatePair(size);
  if (status.ok()) {
    status = InitializeQueuePair(made->pair_.get(), port, kPeerWrites);
  }
  if (!status.ok()) return status;
  return made;
}

absl::Status IbverbsPair::CreatePair(const PairSize& size) {
  // If the device supports less inline data, uses less.
  for (uint32_t inlined = static_cast<uint32_t>(size.max_inline);;
       inlined /= 2) {
    ibv_qp_init_attr wish = {};
    wish.qp_type = IBV_QPT_RC;
    wish.send_cq = wish.recv_cq = queue_.get();
    wish.cap.max_send_wr = static_cast<uint32_t>(size.max_writes);
    wish.cap.max_recv_wr = static_cast<uint32_t>(size.max_receives);
    wish.cap.max_send_sge = 1;
    wish.cap.max_recv_sge = 1;
    wish.cap.max_inline_data = inlined;
    pair_.reset(::ibv_create_qp(domain_.get(), &wish));
    if (pair_ != nullptr) {
      max_inline_ = std::min<size_t>(wish.cap.max_inline_data, size.max_inline);
      return absl::OkStatus();
    }
    if (inlined == 0) {
      return IbvError(absl::StatusCode::kResourceExhausted, "ibv_create_qp",
                      errno);
    }
  }
}

IbverbsPair::~IbverbsPair() = default;

absl::Status IbverbsPair::Connect(const GidEntry& own_gid,
                                  const PairAddress& own,
                                  const PairAddress& peer,
                                  const PairPatience& patience) {
  return ConnectQueuePair(pair_.get(), {port_, own_gid, own, peer, patience,
                                        kReceiverNotReadyTimer});
}

absl::StatusOr<MemoryKeys> IbverbsPair::Register(absl::Span<std::byte> memory,
                                                 bool peer_writes) {
  const int access =
      peer_writes ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
  IbvMemory made(
      ::ibv_reg_mr(domain_.get(), memory.data(), memory.size(), access));
  if (made == nullptr) {
    return IbvError(absl::StatusCode::kResourceExhausted,
                    absl::StrCat("register ", memory.size(), " bytes"), errno);
  }
  const MemoryKeys keys = {made->lkey, made->rkey};
  absl::MutexLock lock(&mu_);
  memory_.push_back(std::move(made));
  return keys;
}

void IbverbsPair::Deregister(const MemoryKeys& keys) {
  absl::MutexLock lock(&mu_);
  memory_.erase(std::remove_if(memory_.begin(), memory_.end(),
                               [&](const IbvMemory& one) {
                                 return one->rkey == keys.remote &&
                                        one->lkey == keys.local;
                               }),
                memory_.end());
}

absl::Status IbverbsPair::PostReceives(int count) {
  std::array<ibv_recv_wr, kReceivesPerCall> requests;
  while (count > 0) {
    const int now = std::min(count, kReceivesPerCall);
    count -= now;
    // Usually one: the others are left unchanged.
    for (int i = 0; i < now; ++i) {
      requests[i] = {};
      requests[i].wr_id = kReceiveId;
      requests[i].next = i + 1 < now ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    const int error = ::ibv_post_recv(pair_.get(), requests.data(), &bad);
    if (error != 0) {
      return IbvError(absl::StatusCode::kUnavailable, "ibv_post_recv", error);
    }
  }
  return absl::OkStatus();
}

absl::Status IbverbsPair::PostWrites(absl::Span<const RdmaWrite> writes) {
  std::array<ibv_send_wr, kWritesPerCall> requests;
  std::array<ibv_sge, kWritesPerCall> pieces;
  if (writes.size() > kWritesPerCall) {
    return absl::InternalError("too many writes at once");
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    const RdmaWrite& write = writes[i];
    ibv_send_wr& request = requests[i] = {};
    pieces[i] = {reinterpret_cast<uint64_t>(write.from.data()),
                 static_cast<uint32_t>(write.from.size()), write.local_key};
    request.wr_id = write.id;
    request.next = i + 1 < writes.size() ? &requests[i + 1] : nullptr;
    request.sg_list = &pieces[i];
    request.num_sge = write.from.empty() ? 0 : 1;
    request.opcode = write.immediate.has_value() ? IBV_WR_RDMA_WRITE_WITH_IMM
                                                 : IBV_WR_RDMA_WRITE;
    request.imm_data = __builtin_bswap32(write.immediate.value_or(0));
    if (write.signaled) request.send_flags |= IBV_SEND_SIGNALED;
    if (write.inlined) request.send_flags |= IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = write.to;
    request.wr.rdma.rkey = write.remote_key;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(pair_.get(), requests.data(), &bad);
  if (error == 0) return absl::OkStatus();
  return IbvError(absl::StatusCode::kUnavailable, "ibv_post_send", error);
}

absl::StatusOr<size_t> IbverbsPair::Poll(absl::Span<Completion> completions) {
  std::array<ibv_wc, 64> found;
  const int most = static_cast<int>(std::min(found.size(), completions.size()));
  const int count = ::ibv_poll_cq(queue_.get(), most, found.data());
  if (count < 0) return absl::UnavailableError("ibv_poll_cq failed");
  for (int i = 0; i < count; ++i) {
    Completion& one = completions[i];
    one.received = found[i].wr_id == kReceiveId;
    one.id = found[i].wr_id;
    one.error = found[i].status == IBV_WC_SUCCESS
                    ? nullptr
                    : ::ibv_wc_status_str(found[i].status);
    one.immediate = one.received ? __builtin_bswap32(found[i].imm_data) : 0;
  }
  return static_cast<size_t>(count);
}

absl::Status IbverbsPair::Arm() {
  const int error = ::ibv_req_notify_cq(queue_.get(), 0);
  if (error == 0) return absl::OkStatus();
  return IbvError(absl::StatusCode::kUnavailable, "ibv_req_notify_cq", error);
}

void IbverbsPair::TakeEvents() {
  ibv_cq* queue;
  void* unused;
  unsigned int count = 0;
  while (::ibv_get_cq_event(channel_.get(), &queue, &unused) == 0) ++count;
  // Destroying the queue waits for this.
  if (count != 0) ::ibv_ack_cq_events(queue_.get(), count);
}

}  // namespace kamino::transport
