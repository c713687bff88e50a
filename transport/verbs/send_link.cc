#include "transport/verbs/send_link.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// Probes in one peer_timeout.
constexpr int kProbesPerTimeout = 4;
// Overhead of a waiting message besides its bytes.
constexpr size_t kMessageCost = 64;

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
  wire_ = std::move(wire);
  return absl::OkStatus();
}

VerbsEndpoint SendLink::Endpoint() const {
  VerbsEndpoint own = wire_->Endpoint();
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
    status = NotifyLocked(
        SendKind::kHello,
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
  RETURN_IF_ERROR(wire_->Connect(peer, PatienceFor(options().peer_timeout)));
  connected_ = true;
  largest_ = std::min<size_t>(options().max_message, peer.max_message);
  hub_->Attach(*wire_, this);
  sends_->AddPair({hub_->device().get(), wire_->number()}, this, wire_->port());
  return absl::OkStatus();
}

// --- End; the loop's thread.

void SendLink::Detach() {
  if (probe_timer_ != 0) loop().CancelTimer(probe_timer_);
  if (std::exchange(counted_, false)) sends_->CountSetUp(-1);
  if (unfinished_ != 0) hub_->EndUnfinished(std::exchange(unfinished_, 0));
  message_ = std::string();
  if (!connected_) return;
  sends_->RemovePair({hub_->device().get(), wire_->number()});
}

void SendLink::ReleaseLocked() {
  waiting_.clear();
  waiting_bytes_ = 0;
  if (wire_ == nullptr) return;
  const bool at_once = !connected_ || cut_off_;
  sends_->TakeBack(std::exchange(hub_, nullptr), std::move(wire_), at_once);
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
  unfinished_ = 0;
  CutOff("too many messages are unfinished, and its message is the oldest");
}

// Otherwise the death of a peer that only listens, or stands still, would not
// be noticed.
void SendLink::StartProbing() {
  probe_timer_ =
      loop().StartTimer(options().peer_timeout / kProbesPerTimeout, [this] {
        probe_timer_ = 0;
        const absl::Status probed = Probe();
        if (!probed.ok()) return Fail(probed);
        StartProbing();
      });
}

absl::Status SendLink::Probe() {
  absl::MutexLock lock(&mu_);
  const bool has_probed = probe_ > covered_;
  const bool waits = has_probed || sent_ - covered_ >= wire_->window();
  quiet_ = waits && covered_ == seen_covered_ ? quiet_ + 1 : 0;
  seen_covered_ = covered_;
  if (quiet_ >= kProbesPerTimeout) {
    return absl::UnavailableError(
        absl::StrCat("it has taken nothing for ",
                     absl::FormatDuration(options().peer_timeout)));
  }
  if (has_probed || !HasCreditLocked()) return absl::OkStatus();
  probe_ = ++sent_;
  return NotifyLocked(SendKind::kProbe, {});
}

Link::Held SendLink::held() const {
  absl::MutexLock lock(&mu_);
  return {.unsent = waiting_bytes_ - offset_, .unfinished = message_.size()};
}

// --- Sending; mu_ is held.

absl::Status SendLink::Send(absl::Span<const std::byte> header,
                            absl::Span<const std::byte> payload) {
  absl::MutexLock lock(&mu_);
  const size_t length = header.size() + payload.size();
  RETURN_IF_ERROR(CheckSendLocked(length));
  if (waiting_bytes_ + length + kMessageCost > options().send_buffer) {
    refused_ = true;
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting_bytes_, " bytes wait on the link to ", peer()));
  }
  std::string& message = waiting_.emplace_back();
  message.reserve(length);
  message.append(reinterpret_cast<const char*>(header.data()), header.size());
  message.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  waiting_bytes_ += length + kMessageCost;
  const absl::Status pushed = PushLocked();
  if (pushed.ok()) return pushed;
  BeginCloseLocked(pushed);
  return absl::UnavailableError("the link is closing");
}

absl::Status SendLink::PushLocked() {
  while (!waiting_.empty() && HasCreditLocked()) {
    const std::string& message = waiting_.front();
    const bool first = offset_ == 0;
    const size_t length = std::min(message.size() - offset_, kSendPayload);
    const SendHead head = {first ? SendKind::kFirst : SendKind::kMore,
                           {},
                           first ? static_cast<uint32_t>(message.size()) : 0,
                           taken_};
    const absl::Span<const std::byte> piece(
        reinterpret_cast<const std::byte*>(message.data()) + offset_, length);
    // A refused sender waits for the completion.
    RETURN_IF_ERROR(wire_->Send(head, piece, /*signaled=*/refused_));
    ++sent_;
    told_ = taken_;
    offset_ += length;
    if (offset_ < message.size()) continue;
    waiting_bytes_ -= message.size() + kMessageCost;
    waiting_.pop_front();
    offset_ = 0;
  }
  return absl::OkStatus();
}

absl::Status SendLink::NotifyLocked(SendKind kind,
                                    absl::Span<const std::byte> payload) {
  told_ = taken_;
  return wire_->Send({kind, {}, 0, taken_}, payload, /*signaled=*/false);
}

// Unless a sent message has reported it already.
absl::Status SendLink::SayTakenLocked() {
  const uint64_t untold = taken_ - told_;
  if (untold == 0) owes_taken_ = false;
  if ((!owes_taken_ && untold < kTakenPerCredit) || !wire_->CanNotify()) {
    return absl::OkStatus();
  }
  owes_taken_ = false;
  return NotifyLocked(SendKind::kCredit, {});
}

// --- Receiving; the loop's thread.

void SendLink::OnSent(uint64_t id) {
  absl::MutexLock lock(&mu_);
  if (wire_ != nullptr) wire_->OnComplete(id);
}

void SendLink::OnBatchEnd() {
  if (closing()) return;
  absl::Status status;
  bool writable = false;
  {
    absl::MutexLock lock(&mu_);
    taken_ = received_;
    status = PushLocked();
    if (status.ok()) status = SayTakenLocked();
    writable =
        refused_ && open() && waiting_bytes_ <= options().send_buffer / 2;
    if (writable) refused_ = false;
  }
  if (!status.ok()) return Fail(status);
  if (writable) handler().OnWritable();
}

absl::Status SendLink::TakeHead(const SendHead& head) {
  absl::MutexLock lock(&mu_);
  if (head.taken < covered_ || head.taken > sent_) {
    return absl::DataLossError("it acknowledged messages that were not sent");
  }
  // Otherwise it could use up other links' receives.
  if (head.kind == SendKind::kCredit &&
      head.taken - covered_ < kTakenPerCredit &&
      (probe_ <= covered_ || head.taken < probe_)) {
    return absl::DataLossError("it acknowledges too often");
  }
  covered_ = head.taken;
  const bool counts = head.kind == SendKind::kFirst ||
                      head.kind == SendKind::kMore ||
                      head.kind == SendKind::kProbe;
  if (!counts) return absl::OkStatus();
  if (++received_ > told_ + kSendWindow) {
    return absl::DataLossError("it sent more than its credit");
  }
  owes_taken_ |= head.kind == SendKind::kProbe;
  return absl::OkStatus();
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
  if (absl::Status taken = TakeHead(head); !taken.ok()) {
    return CutOff(taken.message());
  }
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
  const bool first = head.kind == SendKind::kFirst;
  if (first != (unfinished_ == 0)) return CutOff("it sent pieces out of order");
  if (first) {
    if (head.length > options().max_message) {
      return CutOff(absl::StrCat("a message of ", head.length, " bytes"));
    }
    length_ = head.length;
  }
  const size_t left = length_ - message_.size();
  // Partly filled ones would cost the peer little and this side much.
  if (payload.size() != std::min(left, kSendPayload)) {
    return CutOff("it sent a piece of a wrong size");
  }
  if (!first) return TakeUnfinished(payload);
  if (payload.size() == length_) return handler().OnMessage(payload);
  unfinished_ = hub_->BeginUnfinished(this);
  TakeUnfinished(payload);
}

void SendLink::TakeUnfinished(absl::Span<const std::byte> payload) {
  message_.append(reinterpret_cast<const char*>(payload.data()),
                  payload.size());
  if (message_.size() < length_) {
    return hub_->GrowUnfinished(unfinished_, payload.size());
  }
  hub_->EndUnfinished(std::exchange(unfinished_, 0));
  const std::string message = std::exchange(message_, std::string());
  handler().OnMessage(
      {reinterpret_cast<const std::byte*>(message.data()), message.size()});
}

}  // namespace kamino::transport
