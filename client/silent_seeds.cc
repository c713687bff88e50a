#include "client/silent_seeds.h"

#include <algorithm>
#include <utility>

namespace kamino::client {

void SilentSeeds::Start() {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(started_, true)) return;
    compared_until_ = options_.clock() + kCompared;
  }
  if (options_.after == nullptr) return;
  AskAt(options_.clock() + kFirstPause, kFirstPause);
}

void SilentSeeds::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

void SilentSeeds::Heard(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  silent_.erase(address);
}

bool SilentSeeds::Compares(const std::string& address) const {
  absl::MutexLock lock(&mutex_);
  return silent_.contains(address) && options_.clock() < compared_until_;
}

void SilentSeeds::AskAt(absl::Time time, absl::Duration pause) {
  options_.after(time - options_.clock(),
                 [this, time, pause] { OnTime(time, pause); });
}

void SilentSeeds::OnTime(absl::Time time, absl::Duration pause) {
  std::set<std::string> silent;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_ || silent_.empty()) return;
    if (options_.clock() >= compared_until_) return;
    silent = silent_;
  }
  // Run early: the pause bounds how often a seed is asked.
  if (options_.clock() < time) return AskAt(time, pause);
  bool asked = false;
  for (const std::string& address : silent) asked |= options_.ask(address);
  if (asked) pause = std::min(2 * pause, kMaxPause);
  AskAt(options_.clock() + pause, pause);
}

}  // namespace kamino::client
