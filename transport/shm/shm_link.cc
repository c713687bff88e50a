#include "transport/shm/shm_link.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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
    absl::StatusOr<SharedRings> rings =
        SharedRings::Adopt(fd, preface.ring_bytes);
    if (!rings.ok()) return rings.status();
    rings_ = *std::move(rings);
  }
  offered_.Reset();
  SharedControl& control = rings_.control();
  out_ = connector_ ? &control.to_acceptor : &control.to_connector;
  in_ = connector_ ? &control.to_connector : &control.to_acceptor;
  out_data_ = connector_ ? rings_.to_acceptor() : rings_.to_connector();
  reader_.emplace(connector_ ? rings_.to_connector() : rings_.to_acceptor(),
                  options().max_message);
  absl::MutexLock lock(&mu_);
  writer_.emplace(rings_.ring_bytes());
  return std::min({size_t{preface.max_message}, options().max_message,
                   LargestMessage(rings_.ring_bytes())});
}

void ShmLink::OnOpen() { loop().AddPoller(this); }

void ShmLink::OnStopping() { loop().RemovePoller(this); }

void ShmLink::ReleaseDataLocked() {
  reader_.reset();
  writer_.reset();
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
  const size_t length = header.size() + payload.size();
  absl::MutexLock lock(&mu_);
  if (absl::Status may = CheckSendLocked(length); !may.ok()) return may;
  absl::optional<uint64_t> position = writer_->Reserve(length);
  if (!position.has_value()) {
    if (!AckLocked()) return absl::UnavailableError("the link is closing");
    position = writer_->Reserve(length);
  }
  if (!position.has_value()) {
    // Raised before the last look: a doorbell that comes after it finds the
    // loop's thread waiting for mu_, not going back to sleep.
    const bool owed = blocked_.exchange(true, std::memory_order_relaxed);
    RaiseFlag(out_->writer_waiting);
    if (!AckLocked()) return absl::UnavailableError("the link is closing");
    position = writer_->Reserve(length);
    if (!position.has_value()) {
      return absl::ResourceExhaustedError("out of credits");
    }
    blocked_.store(owed, std::memory_order_relaxed);
  }
  FillRecord(out_data_, *position, header, payload);
  out_->tail.store(writer_->tail(), std::memory_order_release);
  WakePeer(out_->reader_asleep);
  return absl::OkStatus();
}

// Takes in the peer's acknowledgement; false when it is nonsense, and then the
// link closes.
bool ShmLink::AckLocked() {
  absl::Status acked = writer_->Ack(out_->head.load(std::memory_order_acquire));
  if (acked.ok()) return true;
  LOG(ERROR) << "closing the link to " << peer() << ": " << acked.message();
  BeginCloseLocked(acked);
  return false;
}

bool ShmLink::CheckCredits() {
  {
    absl::MutexLock lock(&mu_);
    if (!blocked_ || closing() || !AckLocked()) return false;
    // Half the credits at once, or a blocked sender would wake for each
    // message.
    if (writer_->unacked() > writer_->capacity() / 2) {
      // The doorbell that brought us here may have taken the flag down.
      RaiseFlag(out_->writer_waiting);
      if (!AckLocked()) return false;
      if (writer_->unacked() > writer_->capacity() / 2) return false;
    }
    blocked_.store(false, std::memory_order_relaxed);
  }
  handler().OnWritable();
  return true;
}

bool ShmLink::Poll() {
  if (closing()) return false;
  bool busy = blocked_.load(std::memory_order_relaxed) && CheckCredits();
  if (closing()) return busy;
  absl::Status sound =
      reader_->Advance(in_->tail.load(std::memory_order_acquire));
  for (int i = 0; sound.ok() && i < kMessagesPerPoll; ++i) {
    auto message = reader_->Pop();
    sound = message.status();
    if (!sound.ok() || !message->has_value()) break;
    busy = true;
    if (reader_->head() - acknowledged_ > rings_.ring_bytes() / 8) {
      Acknowledge();
    }
    handler().OnMessage(**message);
    if (closing()) return true;
  }
  if (!sound.ok()) {
    FailBadly(sound);
    return true;
  }
  if (reader_->head() != acknowledged_) Acknowledge();
  return busy;
}

void ShmLink::Acknowledge() {
  acknowledged_ = reader_->head();
  in_->head.store(acknowledged_, std::memory_order_release);
  // A writer is woken for half a ring at least; what is less is published
  // again, at the latest when the ring is empty.
  if (reader_->unread() <= rings_.ring_bytes() / 2) {
    WakePeer(in_->writer_waiting);
  }
}

bool ShmLink::Arm() {
  if (closing()) return true;
  RaiseFlag(in_->reader_asleep);
  return in_->tail.load(std::memory_order_acquire) == reader_->head();
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
