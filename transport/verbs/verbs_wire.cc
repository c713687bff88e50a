#include "transport/verbs/verbs_wire.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/ring/ring.h"

namespace kamino::transport {
namespace {

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

}  // namespace

VerbsWire::VerbsWire(const OpenedPort& port, std::unique_ptr<VerbsPair> pair)
    : device_(port.device),
      choice_(port.choice),
      psn_(RandomPsn()),
      pair_(std::move(pair)) {}

absl::StatusOr<std::unique_ptr<VerbsWire>> VerbsWire::Create(
    const OpenedPort& port, size_t ring_bytes) {
  PairSize size;
  size.max_writes = kWriteSlots + kNoticeSlots;
  size.max_receives = kReceives;
  size.max_inline = kInlineBytes;
  ASSIGN_OR_RETURN(auto pair,
                   port.device->CreatePair(port.choice.port.number, size));
  auto wire = absl::WrapUnique(new VerbsWire(port, std::move(pair)));
  wire->ring_bytes_ = RoundUp(ring_bytes);
  // Wrapping costs two pieces.
  while (wire->ring_bytes_ / (kMostPieces - 2) >
         wire->choice_.port.max_message) {
    wire->ring_bytes_ /= 2;
  }
  for (auto [memory, keys, peer_writes] :
       {std::make_tuple(&wire->ring_, &wire->ring_keys_, true),
        std::make_tuple(&wire->copy_, &wire->copy_keys_, false)}) {
    ASSIGN_OR_RETURN(auto allocated, PinnedMemory::Allocate(wire->ring_bytes_));
    *memory = std::move(allocated);
    ASSIGN_OR_RETURN(auto registered,
                     wire->pair_->Register(memory->bytes(), peer_writes));
    *keys = registered;
  }
  RETURN_IF_ERROR(wire->pair_->PostReceives(kReceives));
  return wire;
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
  own.ring_address = reinterpret_cast<uint64_t>(ring_.bytes().data());
  own.ring_key = ring_keys_.remote;
  own.ring_bytes = ring_bytes_;
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
  ring_bytes_ = std::min<size_t>(ring_bytes_, peer.ring_bytes);
  peer_ring_ = peer.ring_address;
  peer_key_ = peer.ring_key;
  return pair_->Connect(choice_.gid, Endpoint().address, peer.address,
                        patience);
}

void VerbsWire::AddRecord(uint64_t position, absl::Span<const std::byte> first,
                          absl::Span<const std::byte> second) {
  FillRecord(copy_.bytes().first(ring_bytes_), position, first, second);
  added_position_ = position + RecordBytes(first.size() + second.size());
}

VerbsWire::Pieces VerbsWire::CutRecords() const {
  const RingExtent at =
      LocateInRing(ring_bytes_, posted_position_,
                   static_cast<size_t>(added_position_ - posted_position_));
  Pieces pieces;
  size_t offset = at.first_offset;
  for (size_t left : {at.first_length, at.second_length}) {
    while (left != 0) {
      RdmaWrite& write = pieces.emplace_back();
      const size_t length = std::min(left, choice_.port.max_message);
      write.from = copy_.bytes().subspan(offset, length);
      write.local_key = copy_keys_.local;
      write.to = peer_ring_ + offset;
      write.remote_key = peer_key_;
      write.inlined = length <= pair_->max_inline();
      offset += length;
      left -= length;
    }
    offset = 0;
  }
  return pieces;
}

absl::Status VerbsWire::PushRecords() {
  if (posted_position_ == added_position_ || tails_.size() == kTailSlots) {
    return absl::OkStatus();
  }
  Pieces pieces = CutRecords();
  if (outstanding() + pieces.size() > kWriteSlots) return absl::OkStatus();
  posted_position_ = added_position_;
  tails_.push_back(posted_position_);
  pieces.back().immediate = EncodeNotice(Notice::kTail, posted_position_);
  const bool enough = posted_position_ - marked_position_ >= ring_bytes_ / 8;
  return Post(absl::MakeSpan(pieces), enough);
}

void VerbsWire::OnHead(uint64_t position) {
  while (!tails_.empty() && tails_.front() <= position) tails_.pop_front();
}

absl::Status VerbsWire::SendNotice(Notice notice, uint64_t position,
                                   bool signaled) {
  RdmaWrite write;
  write.to = peer_ring_;
  write.remote_key = peer_key_;
  write.immediate = EncodeNotice(notice, position);
  return Post(absl::MakeSpan(&write, 1), signaled);
}

absl::Status VerbsWire::SendProbe() {
  RdmaWrite write;
  write.to = peer_ring_;
  write.remote_key = peer_key_;
  return Post(absl::MakeSpan(&write, 1), true);
}

absl::Status VerbsWire::Post(absl::Span<RdmaWrite> writes, bool signaled) {
  for (RdmaWrite& write : writes) write.id = ++posted_;
  if (signaled || posted_ - signaled_ >= kSignalEvery) {
    writes.back().signaled = true;
    signaled_ = posted_;
    marked_position_ = posted_position_;
    marks_.push_back({posted_, posted_position_});
  }
  return pair_->PostWrites(writes);
}

void VerbsWire::OnComplete(uint64_t id) {
  completed_ = std::max(completed_, id);
  while (!marks_.empty() && marks_.front().id <= completed_) {
    sent_position_ = marks_.front().position;
    marks_.pop_front();
  }
}

void VerbsWire::RevokeRing() {
  if (std::exchange(ring_revoked_, true)) return;
  pair_->Deregister(ring_keys_);
}

}  // namespace kamino::transport
