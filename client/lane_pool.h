// Where mutations get their names from. A lane is a client id with its numbers;
// it names one mutation at a time, so as many lanes are in use as mutations are
// under way.
#ifndef KAMINO_CLIENT_LANE_POOL_H_
#define KAMINO_CLIENT_LANE_POOL_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"

namespace kamino::client {

struct Lane {
  uint64_t client_id = 0;
  uint64_t number = 1;  // of the next mutation
  // What the client had seen of the chain before it sends that; see
  // kamino.v1.RequestId.
  uint64_t since = 0;
};

// Thread-safe.
class LanePool {
 public:
  // A lane nobody else uses, made anew when none is free, for a mutation that
  // is sent by a client that has seen `since`.
  Lane Acquire(uint64_t since);
  // Gives a lane back whose number names no mutation that may have been carried
  // out. One that is not given back is never used again.
  void Release(const Lane& lane);

 private:
  absl::Mutex mutex_;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  // Used last first: the servers drop client ids that are silent for long.
  std::vector<Lane> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_LANE_POOL_H_
