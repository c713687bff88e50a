// The memory that one connection holds: answers that the peer has not received,
// and an incomplete frame; and how fast the peer moves bytes.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_HELD_BYTES_H_
#define KAMINO_NODE_SESSION_HELD_BYTES_H_

#include <cstddef>

#include "absl/time/time.h"
#include "node/session/session_carrier.h"
#include "node/session/session_limits.h"

namespace kamino::node {

class HeldBytes {
 public:
  // All outlive this. `of_all` counts the bytes of all connections.
  HeldBytes(const SessionLimits* limits, SessionCarrier* carrier,
            size_t* of_all, absl::Time now);
  ~HeldBytes();
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // The peer has sent a frame.
  void NoteReceived(size_t bytes, absl::Time now);
  // Call before the carrier gets a frame.
  void NoteSent(size_t bytes);
  // Asks the carrier how much it has not sent. Call after each frame, and when
  // the peer may have received something.
  void CountUnsent();
  void OnTick(absl::Time now);

  // Whether one more answer may be made while `waiting` bytes of answers have
  // not been sent. If all connections hold much, those that hold some may not.
  bool HasRoom(size_t waiting);
  // Whether the peer sends requests and receives too few answers.
  bool IsExceeded(size_t waiting) const {
    return unsent_ + waiting > 2 * limits_->max_unsent_bytes;
  }

  // Whether the peer does not complete a frame; once a tick.
  bool FrameIsStuck(absl::Time now);
  // Whether the peer has received nothing since the last tick, though it could.
  bool AnswersAreStuck();

  size_t bytes() const { return unsent_ + unfinished_; }
  // About how many seconds the peer needs for these bytes at its recent rate.
  // Only for comparison: a new peer counts as fast.
  double seconds() const;

 private:
  bool Fits(size_t waiting) const;
  void CountUnfinished();

  const SessionLimits* const limits_;
  SessionCarrier* const carrier_;
  size_t* const of_all_;
  size_t unsent_ = 0;       // as counted last
  size_t unfinished_ = 0;   // likewise
  bool took_some_ = false;  // the peer, since the last tick
  // For the incomplete frame: its size at that time, when the time for the next
  // piece began.
  size_t frame_had_ = 0;
  absl::Time frame_since_;
  // Bytes in both directions, in this second and in the one before.
  size_t moved_ = 0;
  size_t moved_before_ = 0;
  absl::Time moved_since_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_HELD_BYTES_H_
