// The sending half of a link over rings: credits, back-pressure and when the
// sender may go on. One algorithm for all movers; docs/formats/link.md, "Ring".
#ifndef KAMINO_TRANSPORT_RING_RING_SENDER_H_
#define KAMINO_TRANSPORT_RING_RING_SENDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/ring/ring.h"

namespace kamino::transport {

// How bytes get to the peer's ring and its acknowledgements back. Called by a
// RingSender, from whatever thread calls that.
class RingMover {
 public:
  virtual ~RingMover() = default;

  // Moves the record of both pieces to `position` of the peer's ring, then
  // publishes everything up to its end; soon, if not at once. An error is the
  // link's end.
  virtual absl::Status Move(uint64_t position,
                            absl::Span<const std::byte> first,
                            absl::Span<const std::byte> second) = 0;

  // Everything before is consumed by the peer, by what it last said, and its
  // bytes here are free to change.
  virtual uint64_t Acknowledged() = 0;

  // Asks the peer to say, unasked from then on, when half the ring is free.
  // An acknowledgement after the request is seen by Acknowledged, or else
  // makes the loop call CheckCredits.
  virtual absl::Status RequestCredits() = 0;
};

// Not thread-safe but for blocked().
class RingSender {
 public:
  // `mover` is not owned. `capacity` as for RingWriter.
  RingSender(size_t capacity, RingMover* mover);

  // kResourceExhausted: out of credits, nothing was sent, and CheckCredits
  // will tell. Other errors are the link's end; kDataLoss: the peer
  // acknowledged what it cannot have.
  absl::Status Send(absl::Span<const std::byte> first,
                    absl::Span<const std::byte> second);

  // Whether a refused Send is worth another try; each refusal is told of once.
  // To be called when acknowledgements may have come. Errors as for Send.
  absl::StatusOr<bool> CheckCredits();

  // Send was refused since CheckCredits said yes. Any thread.
  bool blocked() const { return blocked_.load(std::memory_order_relaxed); }

 private:
  bool HalfFree() const;
  absl::Status TakeAcknowledgement();

  RingMover* const mover_;
  RingWriter writer_;
  std::atomic<bool> blocked_{false};
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_RING_RING_SENDER_H_
