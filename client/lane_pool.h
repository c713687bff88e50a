// Where mutations get their names from. A lane names one mutation at a time, so
// as many lanes are in use as mutations are under way. It is a slot of the
// client's session, while there is one, or else a client id with its numbers.
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
  uint64_t client_id = 0;  // or the session's
  uint64_t number = 1;     // of the next mutation
  // What the client had seen of the chain before it sends that; see
  // kamino.v1.RequestId. 0 in a session.
  uint64_t since = 0;
  bool in_session = false;
};

// Thread-safe. Nothing is called with a lock held.
class LanePool {
 public:
  // With a lane, or with none: the time is over, or there may be a lane now.
  using Ready = std::function<void(std::optional<Lane>)>;

  // A lane nobody else uses, made anew when none is free, for a mutation that
  // is sent by a client that has seen `since`.
  Lane Acquire(uint64_t since);
  // The same, but for a session whose slots are all in use: then none, and
  // `ready` is called once, when one is free, at `deadline` or a Tick after it,
  // or when the session is over. Those that wait are served in turn.
  std::optional<Lane> AcquireOr(uint64_t since, absl::Time deadline,
                                Ready ready);
  // Gives a lane back. `used`: its number names a mutation that was answered;
  // else none that may have been carried out. One that is not given back is
  // never used again.
  void Release(Lane lane, bool used);

  // One whose number names nobody knows what will not be given back. True: so
  // many slots of the session are gone that another one should be opened.
  bool GiveUp(const Lane& lane);

  // From now on mutations are those of this session, of which nothing was sent
  // yet, as long as it has free slots.
  void OpenSession(uint64_t id, uint32_t window);
  // None is from now on.
  void CloseSession();
  uint64_t session_id() const;  // 0: none
  uint32_t window() const;      // of the session

  // Serves those that wait, where the session has changed or their time is
  // over; to be called again and again.
  void Tick(absl::Time now);
  // Nobody waits from now on.
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
