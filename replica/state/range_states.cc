#include "replica/state/range_states.h"

#include <algorithm>

namespace kamino::replica {

void RangeStates::Reset(Origin origin) {
  std::fill(agreed_.begin(), agreed_.end(), 0);
  std::fill(origin_.begin(), origin_.end(), origin);
  foreign_ = origin == Origin::kOwn ? 0 : origin_.size();
  begun_.reset();
}

void RangeStates::SetOrigin(uint64_t range, Origin origin) {
  foreign_ -= origin_[range] != Origin::kOwn ? 1 : 0;
  origin_[range] = origin;
  foreign_ += origin != Origin::kOwn ? 1 : 0;
}

void RangeStates::OnWritten(uint64_t range) {
  agreed_[range] = 0;
  if (begun_.has_value() && begun_->range == range) begun_->written = true;
}

void RangeStates::OnBorrowed(uint64_t range) {
  OnWritten(range);
  SetOrigin(range, Origin::kBorrowed);
  if (begun_.has_value() && begun_->range == range) begun_->borrowed = true;
}

void RangeStates::Begin(uint64_t range) { begun_ = Begun{range}; }

void RangeStates::Agree(uint64_t range, uint64_t digest) {
  if (!begun_.has_value() || begun_->range != range) return;
  if (!begun_->written) agreed_[range] = digest;
  if (!begun_->borrowed) SetOrigin(range, Origin::kOwn);
  begun_.reset();
}

}  // namespace kamino::replica
