// One end of a verbs link: a queue pair, the ring that the peer writes into,
// the copy of the peer's ring that writes leave from, and the state of the send
// queue. The link decides which messages to send and when.
//
// Invariants:
//   1. Posted and incomplete writes never exceed the pair's limit; records
//      never take the room of notices (kNoticeSlots). Records that do not fit
//      wait in the copy and leave with one notice.
//   2. One write in kSignalEvery is signaled, so that the queue always becomes
//      free again by itself.
//   3. The copy's bytes do not change from the post to the completion.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/device.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/verbs_format.h"

namespace kamino::transport {

// Thread-safety: the owner guards posting and counting writes; for the rest
// pair()'s own rules apply.
class VerbsWire {
 public:
  static constexpr size_t kWriteSlots = 2 * kTailSlots;
  static constexpr size_t kNoticeSlots = 32;
  static constexpr size_t kSignalEvery = 64;
  static constexpr size_t kInlineBytes = 192;
  // Largest number of writes for the records of one notice.
  static constexpr size_t kMostPieces = 10;

  // A pair that is not connected, with memory for rings of `ring_bytes`
  // (rounded up to a power of two) and all its receives posted.
  static absl::StatusOr<std::unique_ptr<VerbsWire>> Create(
      const OpenedPort& port, size_t ring_bytes);

  // Data for the peer: everything but max_message and era.
  VerbsEndpoint Endpoint() const;

  // Connects to `peer`; rings are the smaller of both sides'.
  // kFailedPrecondition: the two cannot talk; the text says why.
  absl::Status Connect(const VerbsEndpoint& peer, const PairPatience& patience);

  // Set by Connect. Bytes of each direction's ring.
  size_t ring_bytes() const { return ring_bytes_; }
  // Where the peer writes.
  absl::Span<const std::byte> ring() const {
    return ring_.bytes().first(ring_bytes_);
  }
  const PortChoice& choice() const { return choice_; }
  VerbsPair& pair() { return *pair_; }
  const VerbsDevice* device() const { return device_.get(); }

  // Lays a record out in the copy; PushRecords sends it.
  void AddRecord(uint64_t position, absl::Span<const std::byte> first,
                 absl::Span<const std::byte> second);
  // Sends the added records with one notice as soon as there is room for them;
  // to be called again whenever that may be.
  absl::Status PushRecords();
  // The peer has consumed everything before `position`.
  void OnHead(uint64_t position);

  bool CanNotify() const { return outstanding() < kWriteSlots + kNoticeSlots; }
  absl::Status SendNotice(Notice notice, uint64_t position, bool signaled);
  // An empty write, which moves nothing and completes only if the peer's pair
  // is alive.
  absl::Status SendProbe();

  // A write of ours has completed; so have all before it.
  void OnComplete(uint64_t id);
  // Records before it have left the copy.
  uint64_t sent_position() const { return sent_position_; }
  bool all_complete() const { return outstanding() == 0; }

  // Ends the peer's write access.
  void RevokeRing();

 private:
  // Usually one.
  using Pieces = absl::InlinedVector<RdmaWrite, kMostPieces>;

  VerbsWire(const OpenedPort& port, std::unique_ptr<VerbsPair> pair);

  size_t outstanding() const {
    return static_cast<size_t>(posted_ - completed_);
  }
  // [posted_position_, added_position_) as writes.
  Pieces CutRecords() const;
  // Fills in ids and signals, and posts.
  absl::Status Post(absl::Span<RdmaWrite> writes, bool signaled);

  // Constant after Create.
  const std::shared_ptr<VerbsDevice> device_;
  const PortChoice choice_;
  PinnedMemory ring_;
  PinnedMemory copy_;
  MemoryKeys ring_keys_;
  MemoryKeys copy_keys_;
  uint32_t psn_ = 0;

  // Constant after Connect.
  size_t ring_bytes_ = 0;
  uint64_t peer_ring_ = 0;
  uint32_t peer_key_ = 0;

  struct Mark {
    uint64_t id;
    uint64_t position;
  };
  uint64_t posted_ = 0;     // writes, ever; the id of the newest
  uint64_t completed_ = 0;  // the newest known to be complete
  uint64_t signaled_ = 0;   // the newest signaled one
  // Positions up to which records were laid out, posted and sent, in this
  // order.
  uint64_t added_position_ = 0;
  uint64_t posted_position_ = 0;
  uint64_t sent_position_ = 0;
  uint64_t marked_position_ = 0;  // position of the newest mark
  std::deque<Mark> marks_;        // signaled writes under way
  std::deque<uint64_t> tails_;    // of notices that are not acknowledged

  bool ring_revoked_ = false;
  std::unique_ptr<VerbsPair> pair_;  // last: it uses the memory
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_
