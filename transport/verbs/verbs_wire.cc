#include "transport/verbs/verbs_wire.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

constexpr size_t kInlineBytes = 192;

// 24 bits that packets of an earlier pair are unlikely to carry.
uint32_t RandomPsn() {
  std::random_device random;
  return random() & 0xffffff;
}

size_t RoundUp(size_t bytes) {
  size_t rounded = kLeastVerbsRing;
  while (rounded < bytes) rounded *= 2;
  return rounded;
}

bool IsPowerOfTwo(uint64_t value) { return (value & (value - 1)) == 0; }

// Memory for a ring that `pair` may use; it must outlive the pair.
absl::StatusOr<RegisteredMemory> NewMemory(VerbsPair* pair, size_t bytes,
                                           bool peer_writes) {
  ASSIGN_OR_RETURN(auto memory, PinnedMemory::Allocate(bytes));
  ASSIGN_OR_RETURN(const MemoryKeys keys,
                   pair->Register(memory.bytes(), peer_writes));
  return RegisteredMemory{std::move(memory), keys};
}

}  // namespace

VerbsWire::VerbsWire(const OpenedPort& port, RegisteredMemory ring,
                     RegisteredMemory copy, std::unique_ptr<VerbsPair> pair)
    : device_(port.device),
      choice_(port.choice),
      psn_(RandomPsn()),
      ring_(std::move(ring)),
      copy_(std::move(copy), port.choice.port.max_message, pair->max_inline()),
      pair_(std::move(pair)),
      queue_(pair_.get()) {}

absl::StatusOr<std::unique_ptr<VerbsWire>> VerbsWire::Create(
    const OpenedPort& port, size_t ring_bytes) {
  PairSize size;
  size.max_writes = WriteQueue::kSlots;
  size.max_receives = kReceives;
  size.max_inline = kInlineBytes;
  RegisteredMemory ring, copy;  // before the pair, which uses them
  ASSIGN_OR_RETURN(auto pair,
                   port.device->CreatePair(port.choice.port.number, size));
  size_t bytes = RoundUp(ring_bytes);
  // Wrapping costs two pieces.
  while (bytes / (RingCopy::kMostPieces - 2) > port.choice.port.max_message) {
    bytes /= 2;
  }
  ASSIGN_OR_RETURN(ring, NewMemory(pair.get(), bytes, /*peer_writes=*/true));
  ASSIGN_OR_RETURN(copy, NewMemory(pair.get(), bytes, /*peer_writes=*/false));
  RETURN_IF_ERROR(pair->PostReceives(kReceives));
  return absl::WrapUnique(
      new VerbsWire(port, std::move(ring), std::move(copy), std::move(pair)));
}

VerbsEndpoint VerbsWire::Endpoint() const {
  VerbsEndpoint own;
  own.version = kVerbsVersion;
  own.device = choice_.device;
  own.port = static_cast<uint32_t>(choice_.port.number);
  own.gid_index = static_cast<uint32_t>(choice_.gid.index);
  own.address.number = pair_->number();
  own.address.psn = psn_;
  own.address.lid = choice_.port.lid;
  own.address.gid = choice_.gid.gid;
  own.address.kind = choice_.gid.kind;
  own.address.mtu = choice_.port.mtu;
  own.ring_address = reinterpret_cast<uint64_t>(ring_.memory.bytes().data());
  own.ring_key = ring_.keys.remote;
  own.ring_bytes = ring_bytes();
  return own;
}

absl::Status VerbsWire::Connect(const VerbsEndpoint& peer,
                                const PairPatience& patience) {
  if (peer.version != kVerbsVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer speaks verbs version ", peer.version,
                     ", this side ", kVerbsVersion));
  }
  if (peer.address.kind != choice_.gid.kind) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer's GID ", peer.gid_index, " of ", peer.device,
        " is of another kind than this side's ", Describe(choice_)));
  }
  if (peer.ring_bytes < kLeastVerbsRing || peer.ring_bytes > kMostVerbsRing ||
      !IsPowerOfTwo(peer.ring_bytes) || peer.address.mtu < 256) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer's ring is of ", peer.ring_bytes,
                     " bytes, its MTU of ", peer.address.mtu));
  }
  copy_.Connect(std::min<size_t>(ring_bytes(), peer.ring_bytes),
                peer.ring_address, peer.ring_key);
  return pair_->Connect(choice_.gid, Endpoint().address, peer.address,
                        patience);
}

absl::Status VerbsWire::PushRecords() {
  if (!copy_.MayPost()) return absl::OkStatus();
  RingCopy::Pieces pieces = copy_.CutRecords();
  if (!queue_.HasRoom(pieces.size())) return absl::OkStatus();
  const uint64_t tail = copy_.CountPosted();
  pieces.back().immediate = EncodeNotice(Notice::kTail, tail);
  const bool enough = tail - queue_.marked_position() >= ring_bytes() / 8;
  return queue_.Post(absl::MakeSpan(pieces), tail, enough);
}

absl::Status VerbsWire::SendNotice(Notice notice, uint64_t position,
                                   bool signaled) {
  RdmaWrite write = copy_.EmptyWrite();
  write.immediate = EncodeNotice(notice, position);
  return queue_.Post(absl::MakeSpan(&write, 1), copy_.posted_position(),
                     signaled);
}

absl::Status VerbsWire::SendProbe() {
  RdmaWrite write = copy_.EmptyWrite();
  return queue_.Post(absl::MakeSpan(&write, 1), copy_.posted_position(), true);
}

void VerbsWire::RevokeRing() {
  if (std::exchange(ring_revoked_, true)) return;
  pair_->Deregister(ring_.keys);
}

}  // namespace kamino::transport
