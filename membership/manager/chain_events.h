// The last events of a chain, as its manager records them for operators.
#ifndef KAMINO_MEMBERSHIP_MANAGER_CHAIN_EVENTS_H_
#define KAMINO_MEMBERSHIP_MANAGER_CHAIN_EVENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace kamino::membership {

struct ChainEvent {
  uint64_t number = 0;  // from 1
  absl::Time at;        // monotonic
  std::string text;     // one line
};

// Not thread-safe.
class ChainEvents {
 public:
  static constexpr size_t kKept = 100;
  static constexpr size_t kMaxTextBytes = 1024;  // nodes contribute to it

  void Add(std::string text, absl::Time now) {
    text.resize(std::min(text.size(), kMaxTextBytes));
    kept_.push_back({++last_, now, std::move(text)});
    if (kept_.size() > kKept) kept_.pop_front();
  }
  // Oldest first.
  const std::deque<ChainEvent>& kept() const { return kept_; }

 private:
  uint64_t last_ = 0;
  std::deque<ChainEvent> kept_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_CHAIN_EVENTS_H_
