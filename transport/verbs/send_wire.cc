#include "transport/verbs/send_wire.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::transport {
namespace {

constexpr uint64_t kSendsPerSignal = 4;
static_assert(kSendsPerSignal < kSendNotices);
constexpr uint32_t kMostWindow = 1024;

// 24 bits that packets of an earlier pair are unlikely to carry.
uint32_t RandomPsn() {
  std::random_device random;
  return random() & 0xffffff;
}

}  // namespace

SendWire::SendWire(const PortChoice& choice, std::unique_ptr<GroupPair> pair,
                   const Buffers& buffers, std::function<void()> free)
    : choice_(choice),
      buffers_(buffers),
      free_(std::move(free)),
      psn_(RandomPsn()),
      pair_(std::move(pair)) {}

SendWire::~SendWire() {
  pair_ = nullptr;  // the buffers of posted SENDs are free from then on
  free_();
}

VerbsEndpoint SendWire::Endpoint() const {
  VerbsEndpoint own;
  own.version = kSendVersion;
  own.device = choice_.device;
  own.port = static_cast<uint32_t>(choice_.port.number);
  own.gid_index = static_cast<uint32_t>(choice_.gid.index);
  own.address.number = pair_->number();
  own.address.psn = psn_;
  own.address.lid = choice_.port.lid;
  own.address.gid = choice_.gid.gid;
  own.address.kind = choice_.gid.kind;
  own.address.mtu = choice_.port.mtu;
  own.window = kSendWindow;
  own.buffer_bytes = kSendBuffer;
  return own;
}

absl::Status SendWire::Connect(const VerbsEndpoint& peer,
                               const PairPatience& patience) {
  if (peer.version != kSendVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer speaks version ", peer.version,
                     " of verbs without rings, this side ", kSendVersion));
  }
  if (peer.address.kind != choice_.gid.kind) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer's GID ", peer.gid_index, " of ", peer.device,
        " is of another kind than this side's ", Describe(choice_)));
  }
  if (peer.buffer_bytes != kSendBuffer || peer.window < kTakenPerCredit ||
      peer.window > kMostWindow || peer.address.mtu < 256) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer takes ", peer.window, " SENDs of ", peer.buffer_bytes,
        " bytes; its MTU is of ", peer.address.mtu));
  }
  window_ = peer.window;
  return pair_->Connect(choice_.gid, Endpoint().address, peer.address,
                        patience);
}

absl::Status SendWire::Send(const SendHead& head,
                            absl::Span<const std::byte> payload,
                            bool signaled) {
  const size_t slot = static_cast<size_t>(posted_ % kLinkSends);
  const absl::Span<std::byte> buffer =
      buffers_.bytes.subspan(slot * kSendBuffer, kSendBuffer);
  std::memcpy(buffer.data(), &head, sizeof(head));
  if (!payload.empty()) {
    std::memcpy(buffer.data() + sizeof(head), payload.data(), payload.size());
  }
  GroupSend send;
  send.id = ++posted_;
  send.from = buffer.first(sizeof(head) + payload.size());
  send.key = buffers_.key;
  send.signaled = signaled || send.id % kSendsPerSignal == 0;
  send.inlined = send.from.size() <= pair_->max_inline();
  return pair_->Send(send);
}

void SendWire::OnComplete(uint64_t id) {
  completed_ = std::max(completed_, std::min(id, posted_));
}

}  // namespace kamino::transport
