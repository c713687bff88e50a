// HTTP/2 allows a client so many streams at once, but one that it resets counts
// no more, while the call it began lives on until gRPC (1.51) comes to it: some
// fifteen KiB each, as many as are sent, whatever the server's resource quota
// is (CVE-2023-44487). So connections whose calls are not answered, and yet
// more and more come, are ended.
#ifndef KAMINO_RPC_STREAM_RESETS_H_
#define KAMINO_RPC_STREAM_RESETS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::rpc {

// Which connections reset too many. Not thread-safe.
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
    int64_t unanswered;  // streams so far, whether there still or not
  };

  explicit StreamResets(Limits limits) : limits_(limits) {}

  // The ids of those to be ended, of all connections there are at `now`.
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
