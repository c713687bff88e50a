#include "client/read_spread.h"

#include <algorithm>

namespace kamino::client {

std::string ReadSpread::Next(PlaceAt place_at, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now < rests_until_) return "";
  for (int i = 0; i < kTries; ++i) {
    Place place = place_at(turn_++);
    if (place.is_tail) return "";
    const auto avoided = avoided_until_.find(place.address);
    if (avoided == avoided_until_.end() || now >= avoided->second) {
      return std::move(place.address);
    }
  }
  return "";
}

void ReadSpread::OnResult(const std::string& address, Result result,
                          absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (result == Result::kFailed) {
    ++stats_.failed;
    if (avoided_until_.size() >= kMaxAvoided) avoided_until_.clear();
    avoided_until_[address] = now + kAvoid;
    return;
  }
  ++(result == Result::kAnswered ? stats_.answered : stats_.not_clean);
  // Reads that were outstanding when the rest began do not count.
  if (now < rests_until_) return;
  ++answers_;
  if (result == Result::kNotClean) ++not_clean_;
  if (answers_ < kAnswers) return;
  if (2 * not_clean_ >= answers_) {
    rests_until_ = now + rest_;
    rest_ = std::min(2 * rest_, kLongestRest);
  } else {
    rest_ = kRest;
  }
  answers_ = not_clean_ = 0;
}

ReadSpread::Stats ReadSpread::stats() const {
  absl::MutexLock lock(&mutex_);
  return stats_;
}

}  // namespace kamino::client
