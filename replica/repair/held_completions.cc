#include "replica/repair/held_completions.h"

#include <algorithm>

namespace kamino::replica {

uint64_t HeldCompletions::MayComplete() {
  const uint64_t applied = ring_->applied();
  if (brake_.holds()) {
    released_ = std::max(released_, ring_->cleaned());
    if (brake_.TakeOne() && released_ < applied) {
      released_ = ring_->EntryOf(released_ + 1).last();
    }
  } else {
    released_ = applied;
  }
  held_at_.reset();
  if (released_ < applied) held_at_ = released_;
  return released_;
}

}  // namespace kamino::replica
