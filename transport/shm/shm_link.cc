#include "transport/shm/shm_link.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/crypto.h"

namespace kamino::transport {
namespace {

// Bounds how long one link holds the thread.
constexpr int kReadsPerEvent = 16;

// The flag protocol: one side stores its index, then looks at the flag; the
// other raises the flag, then looks at the index. A full fence in between on
// both sides makes at least one of them see the other.
void RaiseFlag(std::atomic<uint32_t>& flag) {
  flag.store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

static_assert(ExtraBytes(SocketKind::kShmWithPass) == kPassBytes);

SocketKind KindFor(const TransportOptions& options) {
  return options.certificates != nullptr ? SocketKind::kShmWithPass
                                         : SocketKind::kShm;
}

// Returns whether it was up.
bool LowerFlag(std::atomic<uint32_t>& flag) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return flag.load(std::memory_order_relaxed) != 0 &&
         flag.exchange(0, std::memory_order_acq_rel) != 0;
}

}  // namespace

ShmLink::ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
                 std::string address, SharedRings::Created created,
                 ShmPasses passes)
    : RingLink(context, KindFor(context->options), kShmCapabilities,
               std::move(peer)),
      connector_(true),
      address_(std::move(address)),
      passes_(std::move(passes)),
      rings_(std::move(created.rings)),
      offered_(std::move(created.fd)) {}

ShmLink::ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
                 ShmPasses passes)
    : RingLink(context, KindFor(context->options), kShmCapabilities,
               std::move(peer)),
      connector_(false),
      passes_(std::move(passes)) {}

// --- Authentication.

void ShmLink::Prepare() {
  if (!with_pass()) return ReadyToConnect(absl::OkStatus());
  if (passes_.source == nullptr) {
    return ReadyToConnect(absl::UnauthenticatedError(
        "this side has certificates, but no source of passes"));
  }
  auto self = std::static_pointer_cast<ShmLink>(shared_from_this());
  passes_.source->Ask(
      address_, options().connect_timeout,
      [self = std::move(self)](absl::StatusOr<PassSource::Granted> granted) {
        self->loop().Post([self, granted = std::move(granted)] {
          if (!self->closing()) self->OnGranted(granted);
        });
      });
}

void ShmLink::OnGranted(const absl::StatusOr<PassSource::Granted>& granted) {
  absl::Status status = granted.status();
  if (status.ok() && (granted->pass.token.size() != kPassBytes ||
                      granted->pass.proof.size() != kPassBytes)) {
    status = absl::FailedPreconditionError(
        "the token or the proof of the pass has a wrong length");
  }
  if (status.ok()) granted_ = *granted;
  ReadyToConnect(status);
}

bool ShmLink::Secure() {
  if (!connector_ || !with_pass()) return true;
  const absl::Status checked = CheckPeerProcess();
  if (checked.ok()) return true;
  context().TellFailure(peer(), checked);
  Fail(checked);
  return false;
}

// Any process at that address would get the pass and the memory.
absl::Status ShmLink::CheckPeerProcess() const {
  ucred peer = {};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return absl::UnavailableError(absl::ErrnoToStatus(errno, "").message());
  }
  if (peer.uid == granted_->pass.user) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("a process of user ", peer.uid,
                   " listens there, not one of user ", granted_->pass.user));
}

absl::Status ShmLink::TakePass(absl::string_view extra) {
  if (!with_pass()) return absl::OkStatus();
  if (connector_) {
    if (CRYPTO_memcmp(extra.data(), granted_->pass.proof.data(), kPassBytes) !=
        0) {
      return absl::UnauthenticatedError(
          "the process that listens there has not issued the pass");
    }
    return KnowPeer(granted_->issuer);
  }
  if (passes_.registry == nullptr) {
    return absl::UnauthenticatedError("this side gives out no passes");
  }
  ASSIGN_OR_RETURN(PassRegistry::Taken taken, passes_.registry->Take(extra));
  proof_ = std::move(taken.proof);
  return KnowPeer(taken.holder);
}

// --- Set-up.

SocketLink::Offer ShmLink::MakeOffer() {
  Offer offer;
  if (with_pass()) offer.extra = connector_ ? granted_->pass.token : proof_;
  if (connector_) {
    offer.ring_bytes = rings_.ring_bytes();
    offer.fd = offered_.get();
  }
  return offer;
}

absl::StatusOr<size_t> ShmLink::OnPreface(const Preface& preface,
                                          absl::string_view extra,
                                          UniqueFd fd) {
  // Before any use of the peer's data.
  RETURN_IF_ERROR(TakePass(extra));
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
  return StartRings(connector_ ? rings_.to_connector() : rings_.to_acceptor(),
                    preface.max_message);
}

void ShmLink::OnOpen() { loop().AddPoller(this); }

void ShmLink::OnStopping() { loop().RemovePoller(this); }

void ShmLink::ReleaseDataLocked() {
  DropRingsLocked();
  offered_.Reset();
  rings_ = SharedRings();
}

void ShmLink::WakePeer(std::atomic<uint32_t>& flag) {
  if (!LowerFlag(flag)) return;
  // A full socket holds doorbells that the peer has not heard yet; the loop
  // notices a broken one.
  const char bell = 0;
  (void)!::send(socket(), &bell, sizeof(bell), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// --- The ring's mover; mu_ is held.

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

// --- The ring's feed.

uint64_t ShmLink::Published() {
  return in_->tail.load(std::memory_order_acquire);
}

void ShmLink::Acknowledge(uint64_t head, bool may_wake) {
  in_->head.store(head, std::memory_order_release);
  if (may_wake) WakePeer(in_->writer_waiting);
}

// --- The loop's thread.

bool ShmLink::Arm() {
  if (closing()) return true;
  RaiseFlag(in_->reader_asleep);
  return Drained();
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
    PeerLeft();
    return;
  }
  // No correct peer rings that often. Edge-triggered: the rest has no event.
  if (std::exchange(drain_posted_, true)) return;
  loop().Post([this, keep = shared_from_this()] {
    drain_posted_ = false;
    if (!closing()) OnSocketEvents(EPOLLIN);
  });
}

}  // namespace kamino::transport
