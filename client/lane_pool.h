// Where mutations get their names from. A lane names one mutation at a time, so
// as many lanes are in use as mutations are under way. It is a slot of the
// client's session, while there is one, or else a client id with its numbers.
#ifndef KAMINO_CLIENT_LANE_POOL_H_
#define KAMINO_CLIENT_LANE_POOL_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"

namespace kamino::client {

struct Lane {
  uint64_t client_id = 0;  // or the session's
  uint64_t number = 1;     // of the next mutation
  // What the client had seen of the chain before it sends that; see
  // kamino.v1.RequestId. 0 in a session.
  uint64_t since = 0;
  bool in_session = false;
};

// Thread-safe.
class LanePool {
 public:
  // A lane nobody else uses, made anew when none is free, for a mutation that
  // is sent by a client that has seen `since`.
  Lane Acquire(uint64_t since);
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

 private:
  mutable absl::Mutex mutex_;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  uint64_t session_id_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: none
  uint32_t window_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t given_up_ ABSL_GUARDED_BY(mutex_) = 0;  // of its slots
  // Used last first: the servers drop client ids that are silent for long.
  std::vector<Lane> free_slots_ ABSL_GUARDED_BY(mutex_);  // of the session
  std::vector<Lane> free_ids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_LANE_POOL_H_
