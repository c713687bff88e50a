#include "client/lane_pool.h"

#include <limits>

namespace kamino::client {

Lane LanePool::Acquire(uint64_t since) {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) {
    return Lane{absl::Uniform<uint64_t>(absl::IntervalClosed, random_, 1,
                                        std::numeric_limits<uint64_t>::max()),
                1, since};
  }
  Lane lane = free_.back();
  free_.pop_back();
  lane.since = since;
  return lane;
}

void LanePool::Release(const Lane& lane) {
  absl::MutexLock lock(&mutex_);
  free_.push_back(lane);
}

}  // namespace kamino::client
