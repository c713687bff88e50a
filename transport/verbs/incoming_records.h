// The records that the peer of a verbs link writes into this side's ring: how
// far they go, and when this side must report that they are consumed.
// docs/formats/link.md, "Verbs".
//
// Invariant: a report is due for each eighth of the ring and for each
// kTailsPerHead notices of the peer, so that the peer's notices never lack a
// posted receive (transport/verbs/verbs_format.h).
//
// Threads: the loop's thread only.
#ifndef KAMINO_TRANSPORT_VERBS_INCOMING_RECORDS_H_
#define KAMINO_TRANSPORT_VERBS_INCOMING_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "transport/verbs/verbs_format.h"

namespace kamino::transport {

class IncomingRecords {
 public:
  // A kTail notice.
  void OnTail(uint32_t immediate);
  // The peer is out of credits, and waits for a kAnswer.
  void OnWant() { wanted_ = true; }
  bool wanted() const { return wanted_; }

  // Everything before it is in the ring.
  uint64_t published() const { return published_; }

  // Everything before `head` is consumed. `may_wake`: half of the ring of
  // `ring_bytes` is free. Returns the report that is due, kHead or kAnswer, if
  // any, and counts it as sent.
  std::optional<Notice> Consume(uint64_t head, bool may_wake,
                                size_t ring_bytes);

 private:
  uint64_t published_ = 0;
  uint64_t told_ = 0;           // the head that the peer knows, or will
  std::deque<uint64_t> tails_;  // of the peer's notices, not consumed
  size_t tails_untold_ = 0;     // consumed and not reported to the peer
  bool wanted_ = false;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_INCOMING_RECORDS_H_
