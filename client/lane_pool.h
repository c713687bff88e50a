// The names of mutations. A lane names one mutation at a time, so there are as
// many lanes in use as mutations in flight. A lane is a slot of the client's
// session or, without a session, a client id with its numbers.
#ifndef KAMINO_CLIENT_LANE_POOL_H_
#define KAMINO_CLIENT_LANE_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::client {

struct Lane {
  uint64_t client_id = 0;  // or the session id
  uint64_t number = 1;     // of the next mutation
  // The newest sequence that the client had received before it sends that
  // mutation; see kamino.v1.RequestId. 0 in a session.
  uint64_t since = 0;
  bool in_session = false;
};

// Thread-safe. Callbacks run without a lock held.
class LanePool {
 public:
  // Called with a lane; or with none: the deadline has passed, or a lane may be
  // free now.
  using Ready = std::function<void(std::optional<Lane>)>;

  // A lane that is not in use, new if none is free, for a client that has
  // received `since`.
  Lane Acquire(uint64_t since);
  // The same, unless all slots of the session are in use. Then returns none,
  // and `ready` is called once: when a slot is free, at the first Tick after
  // `deadline`, or when the session ends. Waiting calls are served in turn.
  std::optional<Lane> AcquireOr(uint64_t since, absl::Time deadline,
                                Ready ready);
  // Returns a lane. `used`: its number names an answered mutation; otherwise no
  // mutation under it can have been executed. A lane that is not returned is
  // never used again.
  void Release(Lane lane, bool used);

  // Drops a lane whose mutation has an unknown outcome. True: the session has
  // lost so many slots that another one should be opened.
  bool GiveUp(const Lane& lane);

  // New mutations use free slots of this new session from now on.
  void OpenSession(uint64_t id, uint32_t window);
  // New mutations use no session from now on.
  void CloseSession();
  uint64_t session_id() const;  // 0: none
  uint32_t window() const;      // of the session

  // Serves waiting calls after a session change or their deadlines. Call it
  // regularly.
  void Tick(absl::Time now);
  // Ends all waits; later calls do not wait.
  void EndWaiting();

 private:
  struct Waiting {
    absl::Time deadline;
    Ready ready;
  };

  Lane AcquireLocked(uint64_t since) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  uint64_t session_id_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: none
  uint32_t window_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t given_up_ ABSL_GUARDED_BY(mutex_) = 0;  // of its slots
  // Used last first: the servers drop client ids that are silent for long.
  std::vector<Lane> free_slots_ ABSL_GUARDED_BY(mutex_);  // of the session
  std::vector<Lane> free_ids_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_LANE_POOL_H_
