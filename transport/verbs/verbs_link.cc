#include "transport/verbs/verbs_link.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {

VerbsLink::VerbsLink(std::shared_ptr<VerbsContext> context, std::string peer,
                     std::unique_ptr<VerbsWire> wire)
    : RingLink(context, kVerbsCapabilities, std::move(peer)),
      verbs_(std::move(context)),
      wire_(std::move(wire)) {}

// --- Setup; the loop's thread.

VerbsEndpoint VerbsLink::Endpoint() const {
  VerbsEndpoint own = wire_->Endpoint();
  own.max_message = options().max_message;
  own.era = context().era();
  return own;
}

void VerbsLink::StartConnecting(const std::string& address,
                                std::shared_ptr<LinkHandler> handler) {
  if (!BeginConnecting(std::move(handler))) return;
  auto self = std::static_pointer_cast<VerbsLink>(shared_from_this());
  verbs_->rendezvous().Exchange(
      address, Endpoint(), options().connect_timeout,
      [self = std::move(self)](absl::StatusOr<VerbsEndpoint> answer) {
        self->loop().Post([self, answer = std::move(answer)] {
          if (!self->closing()) self->OnAnswer(answer);
        });
      });
}

void VerbsLink::OnAnswer(const absl::StatusOr<VerbsEndpoint>& answer) {
  absl::Status status = answer.status();
  if (status.ok()) status = KnowPeer(answer->sender);
  if (closing()) return;
  if (status.ok()) status = ConnectTo(*answer);
  if (!status.ok()) {
    const bool telling = absl::IsFailedPrecondition(status) ||
                         absl::IsDeadlineExceeded(status) ||
                         absl::IsUnauthenticated(status) ||
                         absl::IsPermissionDenied(status);
    Fail(telling ? status : absl::UnavailableError(status.message()));
    return;
  }
  {
    absl::MutexLock lock(&mu_);
    owed_.AddHello();
    status = SendOwedLocked();
  }
  if (!status.ok()) return FailLoudly(status);
  if (Open(largest_)) StartProbing();
}

void VerbsLink::StartAccepting(const VerbsEndpoint& offer,
                               std::shared_ptr<AcceptGate> gate,
                               const VerbsRendezvous::Reply& reply) {
  if (!BeginAccepting(std::move(gate))) {
    reply(absl::UnavailableError("the transport is being destroyed"));
    return;
  }
  absl::Status status = KnowPeer(offer.sender);
  if (status.ok()) status = context().CheckEra(offer.era);
  if (status.ok()) status = ConnectTo(offer);
  if (!status.ok()) {
    reply(status);
    Fail(status);
    return;
  }
  VerbsEndpoint answer = Endpoint();
  reply(std::move(answer));
}

absl::Status VerbsLink::ConnectTo(const VerbsEndpoint& peer) {
  if (peer.max_message == 0) {
    return absl::FailedPreconditionError("the peer accepts no message");
  }
  RETURN_IF_ERROR(wire_->Connect(peer, PatienceFor(options().peer_timeout)));
  ASSIGN_OR_RETURN(auto watch, loop().Watch(wire_->pair().event_fd(), EPOLLIN,
                                            [this](uint32_t) {
                                              wire_->pair().TakeEvents();
                                            }));
  watch_ = watch;
  connected_ = true;
  verbs_->AddPair({wire_->device(), wire_->pair().number()}, this,
                  wire_->choice().port.number);
  largest_ = StartRings(wire_->ring(), peer.max_message);
  loop().AddPoller(this);
  return absl::OkStatus();
}

void VerbsLink::StartProbing() {
  probe_timer_.Start(&loop(), options().peer_timeout, [this] {
    absl::Status sent;
    {
      absl::MutexLock lock(&mu_);
      // A full queue serves as well: its completions succeed or fail.
      if (wire_->CanNotify()) sent = wire_->SendProbe();
    }
    if (!sent.ok()) FailLoudly(sent);
    return sent.ok();
  });
}

// --- End; the loop's thread.

void VerbsLink::Detach() {
  probe_timer_.Stop(&loop());
  if (!connected_) return;
  loop().RemovePoller(this);
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
  verbs_->RemovePair({wire_->device(), wire_->pair().number()});
}

void VerbsLink::ReleaseLocked() {
  DropRingsLocked();
  std::unique_ptr<VerbsWire> wire = std::move(wire_);
  if (connected_ && !failed_ && !peer_left())
    verbs_->SayGoodBye(std::move(wire));
}

// --- The ring's mover; mu_ is held.

absl::Status VerbsLink::Move(uint64_t position,
                             absl::Span<const std::byte> first,
                             absl::Span<const std::byte> second) {
  wire_->AddRecord(position, first, second);
  return wire_->PushRecords();
}

uint64_t VerbsLink::Acknowledged() {
  return std::min(acknowledged_, wire_->sent_position());
}

absl::Status VerbsLink::RequestCredits() {
  if (!owed_.AddWant()) return absl::OkStatus();
  return SendOwedLocked();
}

absl::Status VerbsLink::SendOwedLocked() {
  RETURN_IF_ERROR(wire_->PushRecords());
  return owed_.SendOver(wire_.get());
}

// --- The ring's feed; the loop's thread.

void VerbsLink::Acknowledge(uint64_t head, bool may_wake) {
  const auto report = incoming_.Consume(head, may_wake, wire_->ring_bytes());
  if (!report.has_value()) return;
  absl::MutexLock lock(&mu_);
  owed_.AddReport(*report, head);
  const absl::Status sent = SendOwedLocked();
  if (!sent.ok()) BeginCloseLocked(sent);
}

// --- Completions; the loop's thread.

absl::StatusOr<size_t> VerbsLink::TakeCompletions() {
  if (completion_count_ != 0) return std::exchange(completion_count_, 0);
  return wire_->pair().Poll(absl::MakeSpan(completions_));
}

void VerbsLink::OnNoticeLocked(uint32_t immediate) {
  switch (NoticeOf(immediate)) {
    case Notice::kTail:
      incoming_.OnTail(immediate);
      return;
    case Notice::kAnswer:
      owed_.OnAnswer();
      [[fallthrough]];
    case Notice::kHead:
      acknowledged_ = PositionAfter(acknowledged_, immediate);
      wire_->OnHead(acknowledged_);
      return;
    case Notice::kWant:
      incoming_.OnWant();
      return;
    case Notice::kHello:
      greeted_ = true;
      return;
    case Notice::kBye:
      PeerLeft();
      return;
  }
}

bool VerbsLink::Progress() {
  absl::StatusOr<size_t> count = TakeCompletions();
  absl::Status status = count.status();
  if (status.ok() && *count != 0) {
    const auto taken = absl::MakeConstSpan(completions_.data(), *count);
    const auto received =
        std::count_if(taken.begin(), taken.end(), [](const Completion& one) {
          return one.received && one.error == nullptr;
        });
    // Before any message that lets the peer send more.
    if (received != 0) {
      status = wire_->pair().PostReceives(static_cast<int>(received));
    }
    absl::MutexLock lock(&mu_);
    for (const Completion& one : taken) {
      if (!status.ok()) break;
      if (one.error != nullptr) {
        status = absl::UnavailableError(absl::StrCat(
            one.received ? "receive: " : "rdma write: ", one.error));
      } else if (one.received) {
        OnNoticeLocked(one.immediate);
      } else {
        wire_->OnComplete(one.id);
      }
    }
    if (status.ok()) status = SendOwedLocked();
  }
  if (status.ok()) return !closing();
  failed_ = true;
  // A regular end causes errors too, and they may overtake it.
  if (peer_left()) status = absl::UnavailableError("closed by the peer");
  FailLoudly(status);
  return false;
}

bool VerbsLink::Poll() {
  if (closing()) return false;
  if (!Progress()) return true;
  if (!open()) {
    if (!greeted_) return false;
    if (Open(largest_)) StartProbing();
    return true;
  }
  const bool busy = RingLink::Poll();
  if (incoming_.wanted() && !closing()) AcknowledgeAll();
  return busy;
}

bool VerbsLink::Arm() {
  if (closing()) return true;
  if (completion_count_ != 0 || !wire_->pair().Arm().ok()) return false;
  // Earlier completions cause no event.
  auto count = wire_->pair().Poll(absl::MakeSpan(completions_));
  if (!count.ok()) return false;  // Poll will find the same
  completion_count_ = *count;
  return completion_count_ == 0 && (!open() || Drained());
}

}  // namespace kamino::transport
