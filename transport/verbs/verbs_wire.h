// One end of a verbs link's wire: a queue pair, the ring that the peer writes
// into, the copy of the peer's ring that writes leave from, and the bookkeeping
// of the send queue. Which messages to send and when is the link's business.
//
// Invariants:
//   1. No more writes are posted and incomplete than the pair was made for;
//      notices (kNoticeSlots) are never kept out by records. What does not fit
//      waits in the copy and leaves as one.
//   2. Of kSignalEvery writes one is signaled, so that the queue always comes
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

// Thread-safety: what posts or counts writes is guarded by the owner; pair()'s
// own rules apply to the rest.
class VerbsWire {
 public:
  static constexpr size_t kWriteSlots = 2 * kTailSlots;
  static constexpr size_t kNoticeSlots = 32;
  static constexpr size_t kSignalEvery = 64;
  static constexpr size_t kInlineBytes = 192;
  // Writes that the records of one notice may be cut into.
  static constexpr size_t kMostPieces = 10;

  // A pair that is not connected, with memory for rings of `ring_bytes`
  // (rounded up to a power of two) and all its receives posted.
  static absl::StatusOr<std::unique_ptr<VerbsWire>> Create(
      const OpenedPort& port, size_t ring_bytes);

  // What the peer must know: everything but max_message and era.
  VerbsEndpoint Endpoint() const;

  // Connects to `peer`; rings are the smaller of both sides'.
  // kFailedPrecondition: the two cannot talk, with the reason.
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
  // Sends the records that were added, with one notice, as soon as there is
  // room for them; to be called again whenever that may be.
  absl::Status PushRecords();
  // The peer has consumed everything before `position`.
  void OnHead(uint64_t position);

  bool CanNotify() const { return outstanding() < kWriteSlots + kNoticeSlots; }
  absl::Status SendNotice(Notice notice, uint64_t position, bool signaled);
  // An empty write, which moves nothing and completes only if the peer's pair
  // lives.
  absl::Status SendProbe();

  // A write of ours has completed; so have all before it.
  void OnComplete(uint64_t id);
  // Records before it have left the copy.
  uint64_t sent_position() const { return sent_position_; }
  bool all_complete() const { return outstanding() == 0; }

  // The peer can write no more.
  void RevokeRing();

 private:
  // Mostly it is one.
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
  uint64_t signaled_ = 0;   // the newest that says so
  // What was laid out, what was posted, and what has left, in this order.
  uint64_t added_position_ = 0;
  uint64_t posted_position_ = 0;
  uint64_t sent_position_ = 0;
  uint64_t marked_position_ = 0;  // that the newest mark stands for
  std::deque<Mark> marks_;        // signaled writes under way
  std::deque<uint64_t> tails_;    // of notices that are not acknowledged

  bool ring_revoked_ = false;
  std::unique_ptr<VerbsPair> pair_;  // last: it uses the memory
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_
