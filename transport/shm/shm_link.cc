#include "transport/shm/shm_link.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// Bounds how long one link holds the thread.
constexpr int kMessagesPerPoll = 64;
constexpr int kReadsPerEvent = 16;

// A ring's largest message, in bytes.
size_t LargestMessage(size_t ring_bytes) {
  return ring_bytes - sizeof(RecordHead);
}

// The flag protocol: one side stores its index, then looks at the flag; the
// other raises the flag, then looks at the index. A full fence in between on
// both sides makes at least one of them see the other.
void RaiseFlag(std::atomic<uint32_t>& flag) {
  flag.store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Whether it was up.
bool LowerFlag(std::atomic<uint32_t>& flag) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return flag.load(std::memory_order_relaxed) != 0 &&
         flag.exchange(0, std::memory_order_acq_rel) != 0;
}

}  // namespace

ShmLink::ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
                 SharedRings::Created created)
    : SocketLink(std::move(context), LinkKind::kShm, std::move(peer)),
      connector_(true),
      rings_(std::move(created.rings)),
      offered_(std::move(created.fd)) {}

ShmLink::ShmLink(std::shared_ptr<LinkContext> context, std::string peer)
    : SocketLink(std::move(context), LinkKind::kShm, std::move(peer)),
      connector_(false) {}

SocketLink::Offer ShmLink::MakeOffer() {
  return {rings_.ring_bytes(), offered_.get()};
}

absl::StatusOr<size_t> ShmLink::OnPreface(const Preface& preface, UniqueFd fd) {
  if (!connector_) {
    ASSIGN_OR_RETURN(SharedRings rings,
                     SharedRings::Adopt(fd, preface.ring_bytes));
    rings_ = std::move(rings);
  }
  offered_.Reset();
  SharedControl& control = rings_.control();
  out_ = connector_ ? &control.to_acceptor : &control.to_connector;
  in_ = connector_ ? &control.to_connector : &control.to_acceptor;
  out_data_ = connector_ ? rings_.to_acceptor() : rings_.to_connector();
  receiver_.emplace(connector_ ? rings_.to_connector() : rings_.to_acceptor(),
                    options().max_message, static_cast<RingFeed*>(this));
  absl::MutexLock lock(&mu_);
  sender_.emplace(rings_.ring_bytes(), static_cast<RingMover*>(this));
  return std::min({size_t{preface.max_message}, options().max_message,
                   LargestMessage(rings_.ring_bytes())});
}

void ShmLink::OnOpen() { loop().AddPoller(this); }

void ShmLink::OnStopping() { loop().RemovePoller(this); }

void ShmLink::ReleaseDataLocked() {
  receiver_.reset();
  sender_.reset();
  offered_.Reset();
  rings_ = SharedRings();
}

void ShmLink::WakePeer(std::atomic<uint32_t>& flag) {
  if (!LowerFlag(flag)) return;
  // A full socket means doorbells the peer has not heard yet; a broken one is
  // noticed by the loop.
  const char bell = 0;
  (void)!::send(socket(), &bell, sizeof(bell), MSG_DONTWAIT | MSG_NOSIGNAL);
}

absl::Status ShmLink::Send(absl::Span<const std::byte> header,
                           absl::Span<const std::byte> payload) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckSendLocked(header.size() + payload.size()));
  absl::Status sent = sender_->Send(header, payload);
  if (sent.ok() || absl::IsResourceExhausted(sent)) return sent;
  LOG(ERROR) << "closing the link to " << peer() << ": " << sent.message();
  BeginCloseLocked(sent);
  return absl::UnavailableError("the link is closing");
}

// --- The ring's mover; called by sender_, with mu_ held.

absl::Status ShmLink::Move(uint64_t position, absl::Span<const std::byte> first,
                           absl::Span<const std::byte> second) {
  FillRecord(out_data_, position, first, second);
  out_->tail.store(position + RecordBytes(first.size() + second.size()),
                   std::memory_order_release);
  WakePeer(out_->reader_asleep);
  return absl::OkStatus();
}

uint64_t ShmLink::Acknowledged() {
  return out_->head.load(std::memory_order_acquire);
}

// A doorbell that comes after the flag was raised finds the loop's thread
// waiting for mu_, not going back to sleep.
absl::Status ShmLink::RequestCredits() {
  RaiseFlag(out_->writer_waiting);
  return absl::OkStatus();
}

// --- The ring's feed; called by receiver_.

uint64_t ShmLink::Published() {
  return in_->tail.load(std::memory_order_acquire);
}

void ShmLink::Acknowledge(uint64_t head, bool may_wake) {
  in_->head.store(head, std::memory_order_release);
  if (may_wake) WakePeer(in_->writer_waiting);
}

// --- The loop's thread.

// False when the link is closing or closed.
bool ShmLink::TellOfCredits() {
  absl::StatusOr<bool> writable = false;
  {
    absl::MutexLock lock(&mu_);
    if (closing()) return false;
    writable = sender_->CheckCredits();
  }
  if (!writable.ok()) {
    FailBadly(writable.status());
    return false;
  }
  if (*writable) handler().OnWritable();
  return !closing();
}

bool ShmLink::Poll() {
  if (closing()) return false;
  if (sender_->blocked() && !TellOfCredits()) return true;
  const absl::StatusOr<bool> busy = receiver_->Poll(
      kMessagesPerPoll, [this](absl::Span<const std::byte> message) {
        handler().OnMessage(message);
        return !closing();
      });
  if (busy.ok()) return *busy;
  FailBadly(busy.status());
  return true;
}

bool ShmLink::Arm() {
  if (closing()) return true;
  RaiseFlag(in_->reader_asleep);
  return receiver_->Drained();
}

void ShmLink::Disarm() {
  if (closing()) return;
  in_->reader_asleep.store(0, std::memory_order_relaxed);
}

// A doorbell has done its work by waking the thread: the loop polls next.
void ShmLink::OnSocketEvents(uint32_t) {
  char bells[256];
  for (int i = 0; i < kReadsPerEvent; ++i) {
    const ssize_t count = ::recv(socket(), bells, sizeof(bells), MSG_DONTWAIT);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count < 0 && errno == EAGAIN) return;
    OnPeerGone();
    return;
  }
  // No correct peer rings that often. Edge-triggered: the rest has no event.
  if (std::exchange(drain_posted_, true)) return;
  loop().Post([this, keep = shared_from_this()] {
    drain_posted_ = false;
    if (!closing()) OnSocketEvents(EPOLLIN);
  });
}

void ShmLink::OnPeerGone() {
  // What it published before is whole and still counts; a ring holds a bounded
  // number of records.
  const size_t most = rings_.ring_bytes() / sizeof(RecordHead);
  for (size_t i = 0; i < most && !closing(); i += kMessagesPerPoll) {
    if (!Poll()) break;
  }
  if (!closing()) Fail(absl::UnavailableError("closed by the peer"));
}

void ShmLink::FailBadly(const absl::Status& why) {
  LOG(ERROR) << "closing the link to " << peer() << ": " << why.message();
  Fail(why);
}

}  // namespace kamino::transport
