// The sending half of a link over rings: credits, back-pressure, and resuming
// the sender. One algorithm for all movers; docs/formats/link.md, "Ring".
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

// Moves bytes to the peer's ring, and its acknowledgements back. A RingSender
// calls it on its caller's thread.
class RingMover {
 public:
  virtual ~RingMover() = default;

  // Moves the record of both pieces to `position` of the peer's ring, then
  // publishes everything up to its end, at once or soon after. An error ends
  // the link.
  virtual absl::Status Move(uint64_t position,
                            absl::Span<const std::byte> first,
                            absl::Span<const std::byte> second) = 0;

  // The peer has consumed everything before this position, as of its last
  // acknowledgement; those bytes may change here.
  virtual uint64_t Acknowledged() = 0;

  // Asks the peer to report once half the ring is free. A later acknowledgement
  // is visible in Acknowledged, or else makes the loop call CheckCredits.
  virtual absl::Status RequestCredits() = 0;
};

// Not thread-safe, except blocked().
class RingSender {
 public:
  // `mover` is not owned. `capacity` as for RingWriter.
  RingSender(size_t capacity, RingMover* mover);

  // kResourceExhausted: out of credits; nothing was sent, and CheckCredits will
  // say when to retry. Other errors end the link; kDataLoss: the peer
  // acknowledged bytes that it cannot have.
  absl::Status Send(absl::Span<const std::byte> first,
                    absl::Span<const std::byte> second);

  // Whether to retry a refused Send; true once for each refusal. To be called
  // when acknowledgements may have arrived. Errors as for Send.
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
