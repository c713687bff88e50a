#include "transport/verbs/send_link.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/verbs/send_wire.h"

namespace kamino::transport {
namespace {

SendLink::Token RandomToken() {
  std::random_device random;
  SendLink::Token token;
  for (uint64_t& half : token) half = uint64_t{random()} << 32 | random();
  return token;
}

}  // namespace

SendLink::SendLink(std::shared_ptr<SendContext> context, std::string peer)
    : LoopLink(context, kSendCapabilities, std::move(peer)),
      sends_(std::move(context)) {}

// --- Setup; the loop's thread.

absl::Status SendLink::MakeWire() {
  ASSIGN_OR_RETURN(SendHub* const hub, sends_->Hub());
  ASSIGN_OR_RETURN(auto wire, hub->MakeWire());
  absl::MutexLock lock(&mu_);
  hub_ = hub;
  channel_.emplace(std::move(wire), options().send_buffer);
  assembler_.emplace(&hub->unfinished(), static_cast<SendUser*>(this),
                     options().max_message);
  return absl::OkStatus();
}

VerbsEndpoint SendLink::Endpoint() const {
  VerbsEndpoint own = channel_->wire().Endpoint();
  own.max_message = options().max_message;
  own.era = context().era();
  own.token = token_;
  return own;
}

void SendLink::StartConnecting(const std::string& address,
                               std::shared_ptr<LinkHandler> handler) {
  if (!BeginConnecting(std::move(handler))) return;
  if (absl::Status made = MakeWire(); !made.ok()) {
    return Fail(absl::UnavailableError(made.message()));
  }
  auto self = std::static_pointer_cast<SendLink>(shared_from_this());
  sends_->rendezvous().Exchange(
      address, Endpoint(), options().connect_timeout,
      [self = std::move(self)](absl::StatusOr<VerbsEndpoint> answer) {
        self->loop().Post([self, answer = std::move(answer)] {
          if (!self->closing()) self->OnAnswer(answer);
        });
      });
}

void SendLink::OnAnswer(const absl::StatusOr<VerbsEndpoint>& answer) {
  absl::Status status = answer.status();
  if (status.ok()) status = KnowPeer(answer->sender);
  if (closing()) return;
  if (status.ok()) status = ConnectTo(*answer);
  if (!status.ok()) {
    const bool telling = absl::IsFailedPrecondition(status) ||
                         absl::IsDeadlineExceeded(status) ||
                         absl::IsUnauthenticated(status) ||
                         absl::IsPermissionDenied(status);
    return Fail(telling ? status : absl::UnavailableError(status.message()));
  }
  {
    absl::MutexLock lock(&mu_);
    status = channel_->SendHello(
        {reinterpret_cast<const std::byte*>(&answer->token), sizeof(Token)});
  }
  if (!status.ok()) return Fail(status);
  if (Open(largest_)) StartProbing();
}

void SendLink::StartAccepting(const VerbsEndpoint& offer,
                              std::shared_ptr<AcceptGate> gate,
                              const VerbsRendezvous::Reply& reply) {
  if (!BeginAccepting(std::move(gate))) {
    return reply(absl::UnavailableError("the transport is being destroyed"));
  }
  counted_ = true;
  sends_->CountSetUp(+1);
  token_ = RandomToken();
  absl::Status status = KnowPeer(offer.sender);
  if (status.ok()) status = context().CheckEra(offer.era);
  if (status.ok()) status = MakeWire();
  if (status.ok()) status = ConnectTo(offer);
  if (!status.ok()) {
    reply(status);
    return Fail(status);
  }
  reply(Endpoint());
}

absl::Status SendLink::ConnectTo(const VerbsEndpoint& peer) {
  if (peer.max_message == 0) {
    return absl::FailedPreconditionError("the peer accepts no message");
  }
  SendWire& wire = channel_->wire();
  RETURN_IF_ERROR(wire.Connect(peer, PatienceFor(options().peer_timeout)));
  connected_ = true;
  largest_ = std::min<size_t>(options().max_message, peer.max_message);
  hub_->Attach(wire, this);
  sends_->AddPair({hub_->device().get(), wire.number()}, this, wire.port());
  return absl::OkStatus();
}

// --- End; the loop's thread.

void SendLink::Detach() {
  probe_timer_.Stop(&loop());
  if (std::exchange(counted_, false)) sends_->CountSetUp(-1);
  if (assembler_.has_value()) assembler_->Clear();
  if (!connected_) return;
  sends_->RemovePair({hub_->device().get(), channel_->wire().number()});
}

void SendLink::ReleaseLocked() {
  if (!channel_.has_value()) return;
  const bool at_once = !connected_ || cut_off_;
  sends_->RetireWire(std::exchange(hub_, nullptr), channel_->TakeWire(),
                     at_once);
  channel_.reset();
}

void SendLink::CutOff(absl::string_view why) {
  if (closing()) return;
  cut_off_ = true;
  LOG_EVERY_N(WARNING, 100) << "closing the link to " << peer() << ": " << why;
  Fail(absl::DataLossError(why));
}

void SendLink::OnPairFailed(const char* why) {
  cut_off_ = true;
  Fail(absl::UnavailableError(absl::StrCat("send: ", why)));
}

void SendLink::OnTooMuchUnfinished() {
  CutOff("too many messages are unfinished, and its message is the oldest");
}

void SendLink::StartProbing() {
  probe_timer_.Start(&loop(), options().peer_timeout, [this] {
    const absl::Status probed = Probe();
    if (!probed.ok()) Fail(probed);
    return probed.ok();
  });
}

absl::Status SendLink::Probe() {
  absl::MutexLock lock(&mu_);
  if (channel_->CountQuietPeriod() >= ProbeTimer::kProbesPerTimeout) {
    return absl::UnavailableError(
        absl::StrCat("it has taken nothing for ",
                     absl::FormatDuration(options().peer_timeout)));
  }
  return channel_->Probe();
}

Link::Held SendLink::held() const {
  absl::MutexLock lock(&mu_);
  return {.unsent = channel_.has_value() ? channel_->unsent() : 0,
          .unfinished = assembler_.has_value() ? assembler_->bytes() : 0};
}

// --- Sending; any thread.

absl::Status SendLink::Send(absl::Span<const std::byte> header,
                            absl::Span<const std::byte> payload) {
  absl::MutexLock lock(&mu_);
  const size_t length = header.size() + payload.size();
  RETURN_IF_ERROR(CheckSendLocked(length));
  if (!channel_->HasRoom(length)) {
    channel_->OnRefused();
    return absl::ResourceExhaustedError(absl::StrCat(
        channel_->waiting_bytes(), " bytes wait on the link to ", peer()));
  }
  const absl::Status sent = channel_->Send(header, payload);
  if (sent.ok()) return sent;
  BeginCloseLocked(sent);
  return absl::UnavailableError("the link is closing");
}

// --- Receiving; the loop's thread.

void SendLink::OnSent(uint64_t id) {
  absl::MutexLock lock(&mu_);
  if (channel_.has_value()) channel_->OnComplete(id);
}

void SendLink::OnBatchEnd() {
  if (closing()) return;
  absl::Status status;
  bool writable = false;
  {
    absl::MutexLock lock(&mu_);
    status = channel_->OnBuffersPosted();
    writable = open() && channel_->TakeWritable();
  }
  if (!status.ok()) return Fail(status);
  if (writable) handler().OnWritable();
}

void SendLink::OnReceived(absl::Span<const std::byte> bytes) {
  if (closing()) return;
  SendHead head;
  if (bytes.size() < sizeof(head)) return CutOff("it sent less than a head");
  std::memcpy(&head, bytes.data(), sizeof(head));
  const auto payload = bytes.subspan(sizeof(head));
  if (!open()) {
    if (head.kind != SendKind::kHello) return CutOff("it sent no hello");
    return TakeHello(payload);
  }
  if (head.kind == SendKind::kBye) {
    cut_off_ = true;
    return Fail(absl::UnavailableError("closed by the peer"));
  }
  absl::Status allowed;
  {
    absl::MutexLock lock(&mu_);
    allowed = channel_->OnHead(head);
  }
  if (!allowed.ok()) return CutOff(allowed.message());
  switch (head.kind) {
    case SendKind::kFirst:
    case SendKind::kMore:
      return TakePiece(head, payload);
    case SendKind::kProbe:
    case SendKind::kCredit:
      if (!payload.empty()) CutOff("it sent a notice with a payload");
      return;
    case SendKind::kBye:
    case SendKind::kHello:
      break;
  }
  CutOff("it sent a message of an unexpected kind");
}

void SendLink::TakeHello(absl::Span<const std::byte> payload) {
  Token token;
  if (connector() || payload.size() != sizeof(token)) {
    return CutOff("it sent an invalid hello");
  }
  std::memcpy(&token, payload.data(), sizeof(token));
  if (token != token_) return CutOff("its hello is not of this link");
  if (std::exchange(counted_, false)) sends_->CountSetUp(-1);
  if (Open(largest_)) StartProbing();
}

void SendLink::TakePiece(const SendHead& head,
                         absl::Span<const std::byte> payload) {
  if (absl::Status sound = assembler_->Check(head, payload); !sound.ok()) {
    return CutOff(sound.message());
  }
  const bool whole =
      head.kind == SendKind::kFirst && payload.size() == head.length;
  if (whole) return handler().OnMessage(payload);
  const std::optional<std::string> message = assembler_->Add(head, payload);
  if (!message.has_value()) return;
  handler().OnMessage(
      {reinterpret_cast<const std::byte*>(message->data()), message->size()});
}

}  // namespace kamino::transport
