#include "engine/kamino/held_transactions.h"

#include <utility>

#include "engine/explore.h"

namespace kamino::engine {

void HeldTransactions::Expect(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  held_[sequence];
}

HeldTransactions::State HeldTransactions::Keep(State state) {
  absl::MutexLock lock(&mutex_);
  const auto held = held_.find(state->sequence);
  if (!held->second.released) {
    Reached(Branch::kHeldForRelease);
    held->second.state = std::move(state);
    return nullptr;
  }
  Reached(Branch::kReleasedBeforePropagated);
  held_.erase(held);
  return state;
}

void HeldTransactions::Add(State state) {
  absl::MutexLock lock(&mutex_);
  Held& held = held_[state->sequence];
  held.state = std::move(state);
}

HeldTransactions::State HeldTransactions::Release(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  const auto held = held_.find(sequence);
  if (held == held_.end()) return nullptr;
  held->second.released = true;
  if (held->second.state == nullptr) return nullptr;  // Keep returns it
  Reached(Branch::kReleasedAfterPropagated);
  State state = std::move(held->second.state);
  held_.erase(held);
  return state;
}

size_t HeldTransactions::kept() const {
  size_t kept = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [sequence, held] : held_) kept += held.state != nullptr;
  return kept;
}

}  // namespace kamino::engine
