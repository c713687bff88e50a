// Limits of a client's connection.
#ifndef KAMINO_NODE_SESSION_SESSION_LIMITS_H_
#define KAMINO_NODE_SESSION_SESSION_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace kamino::node {

struct SessionLimits {
  size_t max_requests = 4096;           // under way, of one connection
  size_t max_request_bytes = 16 << 20;  // their bodies
  // Answers; above it requests are shed, and above twice that the connection
  // ends.
  size_t max_unsent_bytes = 16 << 20;
  // Answers of all connections, and their incomplete frames. Above it, requests
  // of the connections that hold some are shed, and at a tick connections end.
  size_t max_all_held_bytes = 256 << 20;
  // Ends a connection that for so long does not greet, does not receive its
  // answers, or does not complete a frame.
  absl::Duration max_silence = absl::Seconds(5);
  // Bytes of a frame; a peer that sends less in max_silence is too slow.
  size_t least_of_frame = 64 << 10;
  // Keys that the reads of one frame may look up: some tens of milliseconds.
  size_t max_lookups = 65536;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_LIMITS_H_
