// Ends connections that begin ever more calls without waiting for answers.
// HTTP/2 limits a client's concurrent streams, but a reset stream no longer
// counts, while its call lives on until gRPC (1.51) processes it: about fifteen
// KiB each, without a limit, whatever the server's resource quota
// (CVE-2023-44487).
#ifndef KAMINO_RPC_STREAM_RESETS_H_
#define KAMINO_RPC_STREAM_RESETS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::rpc {

// Finds connections with too many resets. Not thread-safe.
class StreamResets {
 public:
  struct Limits {
    // Streams that a connection may begin without an answer within a window,
    // twice as many as it may have at once. A window ends at the first look
    // that is a second or more after its begin. While looks come once a second,
    // a client that cancels fewer than a thousand calls a second stays
    // connected.
    int64_t of_connection = 2048;
  };
  struct Connection {
    int64_t id;
    int64_t unanswered;  // streams so far, open or not
  };

  explicit StreamResets(Limits limits) : limits_(limits) {}

  // Returns the ids of connections to end, given all connections at `now`.
  std::vector<int64_t> Look(absl::Span<const Connection> connections,
                            absl::Time now);

 private:
  struct Second {
    absl::Time began;
    int64_t unanswered;
  };

  const Limits limits_;
  absl::Time looked_ = absl::InfinitePast();
  absl::flat_hash_map<int64_t, Second> seconds_;  // by id
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_STREAM_RESETS_H_
