#include "membership/agent/manager_patience.h"

#include <algorithm>

#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

// With a connection that brings no answer: initial and maximum patience.
constexpr absl::Duration kFirstPatience = absl::Seconds(1);
constexpr absl::Duration kMostPatience = absl::Seconds(8);
// Limit of a call's deadline, in multiples of the first one, and as a part of a
// lease.
constexpr int kMostDeadlines = 8;
constexpr int kDeadlinesInALease = 4;

}  // namespace

ManagerPatience::ManagerPatience(absl::Duration deadline)
    : deadline_(deadline), patience_(kFirstPatience) {}

absl::Duration ManagerPatience::Deadline(absl::Duration lease) const {
  const absl::Duration first = deadline_;
  const absl::Duration most = std::max(
      first, std::min(kMostDeadlines * first, lease / kDeadlinesInALease));
  absl::Duration deadline = first;
  for (int i = 0; i < late_calls_ && deadline < most; ++i) deadline *= 2;
  return std::min(deadline, most);
}

bool ManagerPatience::TakesNewConnection(absl::Time now) {
  if (now - silent_since_ < patience_) return false;
  silent_since_ = now;
  patience_ = std::min(2 * patience_, kMostPatience);
  return true;
}

void ManagerPatience::OnAnswer(absl::Time sent, const absl::Status& status,
                               absl::Time now) {
  silent_since_ = absl::InfiniteFuture();
  patience_ = kFirstPatience;
  // A fast answer of a standby says nothing about a slow leader. After a slow
  // answer the next call needs as long.
  if (!rpc::LeaderIn(status).has_value() && now - sent <= deadline_ / 2) {
    late_calls_ = 0;
  }
}

void ManagerPatience::OnSilence(absl::Time sent, const absl::Status& status,
                                bool connected) {
  silent_since_ = std::min(silent_since_, sent);
  // A longer call to a dead machine would only delay the calls to the other
  // managers.
  if (absl::IsDeadlineExceeded(status) && connected) ++late_calls_;
}

}  // namespace kamino::membership
