#include "engine/pmem/medium_wait.h"

#include <utility>

#include "base/clock.h"

namespace kamino::engine {
namespace {

thread_local std::shared_ptr<MediumTime> watched;
thread_local bool waits = false;

}  // namespace

void MediumTime::Begin(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  began_ = now;
}

void MediumTime::End(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  ended_ += now - began_;
  began_ = absl::InfiniteFuture();
}

bool MediumTime::waits() const {
  absl::MutexLock lock(&mutex_);
  return began_ != absl::InfiniteFuture();
}

absl::Duration MediumTime::total(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  return now > began_ ? ended_ + (now - began_) : ended_;
}

MediumWait::MediumWait() : outer_(!std::exchange(waits, true)) {
  if (outer_ && watched != nullptr) watched->Begin(MonotonicNow());
}

MediumWait::~MediumWait() {
  if (!outer_) return;
  waits = false;
  if (watched != nullptr) watched->End(MonotonicNow());
}

void MediumWait::Watch(std::shared_ptr<MediumTime> time) {
  watched = std::move(time);
}

}  // namespace kamino::engine
