#include "head/turn.h"

#include <utility>

namespace kamino::head {

namespace {

// Requests of a batch between two reads of the clock. A request takes
// microseconds on memory, and several syncs of the medium on a disk. A request
// that touches many objects, such as one that opens a session, is followed by a
// read at once.
constexpr size_t kRequestsALook = 4;
constexpr uint64_t kTouchedALook = 64;

}  // namespace

Turn::Turn(std::function<absl::Time()> clock, absl::Duration most,
           uint64_t most_touched)
    : clock_(std::move(clock)), most_(most), most_touched_(most_touched) {}

void Turn::Begin(absl::Time now) {
  began_ = now;
  is_long_ = false;
  ended_ = false;
  touched_ = 0;
  look_at_ = kTouchedALook;
}

void Turn::LookAtClock() {
  if (clock_ == nullptr || is_long_) return;
  is_long_ = clock_() - began_ >= most_;
}

bool Turn::EndsBefore(size_t i) {
  if (i % kRequestsALook == 0 || touched_ >= look_at_) {
    LookAtClock();
    look_at_ = touched_ + kTouchedALook;
  }
  return is_over();
}

}  // namespace kamino::head
