// One end of a verbs link: a queue pair, the ring that the peer writes into, a
// copy of the peer's ring, and the send queue that writes the copy into the
// peer's ring. The link decides which messages to send and when.
//
// Invariants: those of RingCopy and WriteQueue, and:
//   Records that do not fit the send queue wait in the copy and leave with one
//   notice.
//
// Threads: the owner's mutex guards the copy and the queue; pair()'s own rules
// apply to the rest. Owns the pair and all memory that it uses.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/device.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/ring_copy.h"
#include "transport/verbs/verbs_format.h"
#include "transport/verbs/write_queue.h"

namespace kamino::transport {

class VerbsWire {
 public:
  // A pair that is not connected, with memory for rings of `ring_bytes`
  // (rounded up to a power of two) and all its receives posted.
  static absl::StatusOr<std::unique_ptr<VerbsWire>> Create(
      const OpenedPort& port, size_t ring_bytes);

  // Data for the peer: everything but max_message and era.
  VerbsEndpoint Endpoint() const;

  // Connects to `peer`; rings are the smaller of both sides'.
  // kFailedPrecondition: the two cannot talk; the text says why.
  absl::Status Connect(const VerbsEndpoint& peer, const PairPatience& patience);

  // Bytes of each direction's ring: before Connect this side's offer, then the
  // agreed size.
  size_t ring_bytes() const { return copy_.ring_bytes(); }
  // Where the peer writes.
  absl::Span<const std::byte> ring() const {
    return ring_.memory.bytes().first(ring_bytes());
  }
  const PortChoice& choice() const { return choice_; }
  VerbsPair& pair() { return *pair_; }
  const VerbsDevice* device() const { return device_.get(); }

  // Lays a record out in the copy; PushRecords sends it.
  void AddRecord(uint64_t position, absl::Span<const std::byte> first,
                 absl::Span<const std::byte> second) {
    copy_.Add(position, first, second);
  }
  // Sends the added records with one notice as soon as there is room for them;
  // to be called again whenever that may be.
  absl::Status PushRecords();
  // The peer has consumed everything before `position`.
  void OnHead(uint64_t position) { copy_.OnHead(position); }

  bool CanNotify() const { return queue_.CanNotify(); }
  absl::Status SendNotice(Notice notice, uint64_t position, bool signaled);
  // An empty write, which moves nothing and completes only if the peer's pair
  // is alive.
  absl::Status SendProbe();

  // A write of ours has completed; so have all before it.
  void OnComplete(uint64_t id) { queue_.OnComplete(id); }
  // Records before it have left the copy.
  uint64_t sent_position() const { return queue_.complete_position(); }
  bool all_complete() const { return queue_.all_complete(); }

  // Ends the peer's write access.
  void RevokeRing();

 private:
  VerbsWire(const OpenedPort& port, RegisteredMemory ring,
            RegisteredMemory copy, std::unique_ptr<VerbsPair> pair);

  const std::shared_ptr<VerbsDevice> device_;
  const PortChoice choice_;
  const uint32_t psn_;
  const RegisteredMemory ring_;
  bool ring_revoked_ = false;
  RingCopy copy_;
  const std::unique_ptr<VerbsPair> pair_;  // behind the memory that it uses
  WriteQueue queue_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_WIRE_H_
