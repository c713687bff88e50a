#include "client/lane_pool.h"

#include <limits>

namespace kamino::client {

Lane LanePool::Acquire(uint64_t since) {
  absl::MutexLock lock(&mutex_);
  if (!free_slots_.empty()) {
    const Lane lane = free_slots_.back();
    free_slots_.pop_back();
    return lane;
  }
  if (free_ids_.empty()) {
    return Lane{absl::Uniform<uint64_t>(absl::IntervalClosed, random_, 1,
                                        std::numeric_limits<uint64_t>::max()),
                1, since};
  }
  Lane lane = free_ids_.back();
  free_ids_.pop_back();
  lane.since = since;
  return lane;
}

void LanePool::Release(Lane lane, bool used) {
  absl::MutexLock lock(&mutex_);
  if (!lane.in_session) {
    if (used) ++lane.number;
    free_ids_.push_back(lane);
    return;
  }
  if (lane.client_id != session_id_) return;
  // A slot's numbers are a window apart.
  if (used) lane.number += window_;
  free_slots_.push_back(lane);
}

bool LanePool::GiveUp(const Lane& lane) {
  absl::MutexLock lock(&mutex_);
  if (!lane.in_session || lane.client_id != session_id_) return false;
  return ++given_up_ * 2 > window_;
}

void LanePool::OpenSession(uint64_t id, uint32_t window) {
  absl::MutexLock lock(&mutex_);
  session_id_ = id;
  window_ = window;
  given_up_ = 0;
  free_slots_.clear();
  for (uint32_t number = window; number > 0; --number) {
    free_slots_.push_back({id, number, 0, /*in_session=*/true});
  }
}

void LanePool::CloseSession() {
  absl::MutexLock lock(&mutex_);
  session_id_ = 0;
  free_slots_.clear();
}

uint64_t LanePool::session_id() const {
  absl::MutexLock lock(&mutex_);
  return session_id_;
}

}  // namespace kamino::client
