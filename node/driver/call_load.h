// What calls may take of a node's memory: those that wait for the core thread,
// and answers that have not left yet. Beyond it calls are refused, and clients
// come again.
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
  // Answers that clients have not taken yet. An answer takes about twice its
  // size: the message, and what gRPC makes of it.
  int64_t max_unsent_bytes = 64 << 20;
  // Of these, those of one connection: who takes nothing leaves room to others.
  int64_t max_unsent_bytes_of_one = 16 << 20;
  // A call ends when an answer, or one message of it, has not left for so long.
  absl::Duration max_unsent_time = absl::Seconds(10);
};

struct CallLoadStats {
  int64_t waiting = 0;
  int64_t unsent_bytes = 0;
  uint64_t shed = 0;      // refused with REASON_OVERLOADED
  uint64_t given_up = 0;  // not done, since nobody waited any more
  uint64_t ended = 0;     // since nobody took what they answered
};

// Thread-safe.
class CallLoad {
 public:
  explicit CallLoad(CallLoadOptions options) : options_(options) {}

  // A read of a request of `bytes` is about to wait for the core thread, unless
  // it is refused (kResourceExhausted, REASON_OVERLOADED).
  absl::Status Enter(int64_t bytes);
  // It waits no more.
  void Leave(int64_t bytes);

  // Whether a read that waited may begin. `peer` is the connection that it came
  // by. kDeadlineExceeded, kCancelled: nobody waits for it. kResourceExhausted
  // (REASON_OVERLOADED): too many answers have not left. It may then exceed
  // the bounds of unsent bytes by its own answer.
  absl::Status Begin(absl::string_view peer, bool cancelled,
                     absl::Time deadline, absl::Time now);

  // --- An answer, from when it was made up until its bytes are freed.

  // Made up at `now`, for `peer`. `end` ends its call, whatever that waits for;
  // it is called at most once, and may outlive the answer. Returns its number,
  // never 0.
  uint64_t AddAnswer(absl::string_view peer, int64_t bytes, absl::Time now,
                     absl::AnyInvocable<void()> end);
  // 0: none.
  void RemoveAnswer(uint64_t answer);
  // kResourceExhausted (REASON_OVERLOADED): too many have not left, or too many
  // of this connection.
  absl::Status CheckRoomForAnswer(absl::string_view peer);
  // Ends the calls whose answers have not left for max_unsent_time; to be
  // called again and again.
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
  // Those that have not left, by number; so the oldest first.
  std::map<uint64_t, Answer> unsent_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_answer_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of each connection that has some.
  absl::flat_hash_map<std::string, int64_t> unsent_of_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CALL_LOAD_H_
