// The receiving half of a link over rings: takes messages out, hands them on
// and acknowledges. One algorithm for all movers; docs/formats/link.md, "Ring".
#ifndef KAMINO_TRANSPORT_RING_RING_RECEIVER_H_
#define KAMINO_TRANSPORT_RING_RING_RECEIVER_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/ring/ring.h"

namespace kamino::transport {

// Where a RingReceiver learns of published bytes and leaves acknowledgements.
class RingFeed {
 public:
  virtual ~RingFeed() = default;

  // The peer has published everything before this position.
  virtual uint64_t Published() = 0;

  // Everything before `head` is copied out. The peer may reuse the room as soon
  // as it is told, which the feed may delay. Called at least every eighth of
  // the ring, and when a batch ends. `may_wake`: the ring is half empty, so a
  // peer that waits for credits should be told now.
  virtual void Acknowledge(uint64_t head, bool may_wake) = 0;
};

// Not thread-safe.
class RingReceiver {
 public:
  // `ring` and `max_message` as for RingReader. `feed` is not owned.
  RingReceiver(absl::Span<const std::byte> ring, size_t max_message,
               RingFeed* feed);

  // Passes up to `limit` messages to `deliver`, until it returns false; then
  // returns at once and does not look at the ring or the feed again. Returns
  // whether there were any. kDataLoss: the peer wrote an invalid record; the
  // link ends.
  absl::StatusOr<bool> Poll(
      int limit, absl::FunctionRef<bool(absl::Span<const std::byte>)> deliver);

  // Whether everything that the feed has published was delivered.
  bool Drained() { return feed_->Published() == reader_.head(); }

  uint64_t head() const { return reader_.head(); }
  bool half_empty() const { return reader_.unread() <= half_; }

 private:
  void Acknowledge();

  RingFeed* const feed_;
  const size_t eighth_;
  const size_t half_;
  RingReader reader_;
  uint64_t acknowledged_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_RING_RING_RECEIVER_H_
