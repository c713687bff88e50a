// Bounds the memory of calls at a node: calls that wait for the core thread,
// and answers that have not left yet. Beyond the bounds calls are refused, and
// clients retry.
#ifndef KAMINO_NODE_DRIVER_CALL_LOAD_H_
#define KAMINO_NODE_DRIVER_CALL_LOAD_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::node {

struct CallLoadOptions {
  int64_t max_waiting = 16384;           // reads
  int64_t max_waiting_bytes = 64 << 20;  // their requests
  // Answers that clients have not received yet. An answer takes about twice its
  // size: the message, and gRPC's copy of it.
  int64_t max_unsent_bytes = 64 << 20;
  // The part of one connection: a client that receives nothing leaves room for
  // others.
  int64_t max_unsent_bytes_of_one = 16 << 20;
  // A call ends when an answer, or one message of it, has not left for so long.
  absl::Duration max_unsent_time = absl::Seconds(10);
};

struct CallLoadStats {
  int64_t waiting = 0;
  int64_t unsent_bytes = 0;
  uint64_t shed = 0;      // refused with REASON_OVERLOADED
  uint64_t given_up = 0;  // not done, since the client stopped waiting
  uint64_t ended = 0;     // since the client did not receive the answer
};

// Thread-safe.
class CallLoad {
 public:
  explicit CallLoad(CallLoadOptions options) : options_(options) {}

  // A read with a request of `bytes` is about to wait for the core thread,
  // unless it is refused (kResourceExhausted, REASON_OVERLOADED).
  absl::Status Enter(int64_t bytes);
  // It waits no more.
  void Leave(int64_t bytes);

  // Whether a read that waited may begin. `peer` is its connection.
  // kDeadlineExceeded, kCancelled: its client has stopped waiting.
  // kResourceExhausted (REASON_OVERLOADED): too many answers have not left. Its
  // own answer may then exceed the bounds of unsent bytes.
  absl::Status Begin(absl::string_view peer, bool cancelled,
                     absl::Time deadline, absl::Time now);

  // --- An answer, from its creation until its bytes are freed.

  // Created at `now`, for `peer`. `end` ends its call in any state; it is
  // called at most once, and may outlive the answer. Returns its number, never
  // 0.
  uint64_t AddAnswer(absl::string_view peer, int64_t bytes, absl::Time now,
                     absl::AnyInvocable<void()> end);
  // 0: none.
  void RemoveAnswer(uint64_t answer);
  // kResourceExhausted (REASON_OVERLOADED): too many answers, or too many of
  // this connection, have not left.
  absl::Status CheckRoomForAnswer(absl::string_view peer);
  // Ends calls whose answers have not left for max_unsent_time; to be called
  // periodically.
  void EndOverdue(absl::Time now);

  CallLoadStats stats() const;

 private:
  struct Answer {
    std::string peer;
    int64_t bytes = 0;
    absl::Time since;
    absl::AnyInvocable<void()> end;  // null: it was called
  };

  const CallLoadOptions options_;
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<uint64_t> shed_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> given_up_{0};

  mutable absl::Mutex mutex_;
  // Answers that have not left, by number, so the oldest first.
  std::map<uint64_t, Answer> unsent_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_answer_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By connection.
  absl::flat_hash_map<std::string, int64_t> unsent_of_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CALL_LOAD_H_
