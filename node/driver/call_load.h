// What calls may take of a node's memory: those that wait for the core thread,
// and answers that have not left yet. Beyond it calls are refused, and clients
// come again.
#ifndef KAMINO_NODE_DRIVER_CALL_LOAD_H_
#define KAMINO_NODE_DRIVER_CALL_LOAD_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::node {

struct CallLoadOptions {
  int64_t max_waiting = 16384;           // reads
  int64_t max_waiting_bytes = 64 << 20;  // their requests
  // Answers that clients have not taken yet. An answer takes about twice its
  // size: the message, and what gRPC makes of it.
  int64_t max_unsent_bytes = 64 << 20;
};

struct CallLoadStats {
  int64_t waiting = 0;
  int64_t unsent_bytes = 0;
  uint64_t shed = 0;      // refused with REASON_OVERLOADED
  uint64_t given_up = 0;  // not done, since nobody waited any more
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

  // Whether a read that waited may begin. kDeadlineExceeded, kCancelled: nobody
  // waits for it. kResourceExhausted (REASON_OVERLOADED): too many answers have
  // not left. It may then exceed max_unsent_bytes by its own answer.
  absl::Status Begin(bool cancelled, absl::Time deadline, absl::Time now);

  // --- An answer, from when it was made up until its bytes are freed.

  void AddAnswer(int64_t bytes) { unsent_bytes_ += bytes; }
  void RemoveAnswer(int64_t bytes) { unsent_bytes_ -= bytes; }
  // kResourceExhausted (REASON_OVERLOADED): too many have not left.
  absl::Status CheckRoomForAnswer();

  CallLoadStats stats() const;

 private:
  const CallLoadOptions options_;
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<int64_t> unsent_bytes_{0};
  std::atomic<uint64_t> shed_{0};
  std::atomic<uint64_t> given_up_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CALL_LOAD_H_
