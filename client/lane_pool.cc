#include "client/lane_pool.h"

#include <limits>
#include <utility>

#include "base/clock.h"

namespace kamino::client {

Lane LanePool::Acquire(uint64_t since) {
  absl::MutexLock lock(&mutex_);
  return AcquireLocked(since);
}

std::optional<Lane> LanePool::AcquireOr(uint64_t since, absl::Time deadline,
                                        Ready ready) {
  absl::MutexLock lock(&mutex_);
  if (session_id_ == 0 || !free_slots_.empty() || ending_) {
    return AcquireLocked(since);
  }
  waiting_.push_back({deadline, std::move(ready)});
  return std::nullopt;
}

Lane LanePool::AcquireLocked(uint64_t since) {
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
  std::vector<Waiting> overdue;
  Ready next;
  {
    absl::MutexLock lock(&mutex_);
    if (!lane.in_session) {
      if (used) ++lane.number;
      free_ids_.push_back(lane);
      return;
    }
    if (lane.client_id != session_id_) return;
    // A slot's numbers are a window apart.
    if (used) lane.number += window_;
    // A call after its deadline would return the lane at once, and many of them
    // would nest.
    const absl::Time now =
        waiting_.empty() ? absl::InfinitePast() : MonotonicNow();
    while (!waiting_.empty() && next == nullptr) {
      if (waiting_.front().deadline <= now) {
        overdue.push_back(std::move(waiting_.front()));
      } else {
        next = std::move(waiting_.front().ready);
      }
      waiting_.pop_front();
    }
    if (next == nullptr) free_slots_.push_back(lane);
  }
  for (const Waiting& each : overdue) each.ready(std::nullopt);
  if (next != nullptr) next(lane);
}

void LanePool::Tick(absl::Time now) {
  std::vector<std::pair<Ready, std::optional<Lane>>> served;
  {
    absl::MutexLock lock(&mutex_);
    std::deque<Waiting> waiting;
    waiting.swap(waiting_);
    for (Waiting& each : waiting) {
      if (session_id_ == 0 || each.deadline <= now) {
        served.emplace_back(std::move(each.ready), std::nullopt);
      } else if (!free_slots_.empty()) {
        served.emplace_back(std::move(each.ready), AcquireLocked(0));
      } else {
        waiting_.push_back(std::move(each));
      }
    }
  }
  for (const auto& [ready, lane] : served) ready(lane);
}

void LanePool::EndWaiting() {
  std::deque<Waiting> waiting;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    waiting.swap(waiting_);
  }
  for (const Waiting& each : waiting) each.ready(std::nullopt);
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

uint32_t LanePool::window() const {
  absl::MutexLock lock(&mutex_);
  return window_;
}

uint64_t LanePool::session_id() const {
  absl::MutexLock lock(&mutex_);
  return session_id_;
}

}  // namespace kamino::client
