#include "client/call_route.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "client/error.h"
#include "client/retry.h"

namespace kamino::client {

bool CallRoute::Choose() {
  view_id_ = directory_->view_id();
  if (target_ == Target::kAnyReplica) {
    target_ = Target::kTail;
    address_ = reads_->Next(
        [this](uint64_t turn) { return directory_->ReplicaAt(turn); },
        MonotonicNow());
    at_replica_ = !address_.empty();
    if (at_replica_) return true;
  }
  address_ = directory_->AddressOf(target_);
  return !address_.empty();
}

absl::Duration CallRoute::AttemptTimeout(absl::Duration left) const {
  return at_replica_ ? std::min(left / 2, kReplicaTimeout)
                     : std::min(left, kAttemptTimeout);
}

bool CallRoute::TurnsToTail(const absl::Status& status) {
  if (!std::exchange(at_replica_, false)) return false;
  using Result = ReadSpread::Result;
  const bool not_clean = ReasonOf(status) == kamino::v1::REASON_NOT_CLEAN;
  // The failures that DecideAfter would retry.
  const bool failed = !not_clean && DecideAfter(status, 1, 0).retry;
  reads_->OnResult(address_,
                   not_clean ? Result::kNotClean
                   : failed  ? Result::kFailed
                             : Result::kAnswered,
                   MonotonicNow());
  return not_clean || failed;
}

}  // namespace kamino::client
