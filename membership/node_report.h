// What a node says of itself to the manager.
#ifndef KAMINO_MEMBERSHIP_NODE_REPORT_H_
#define KAMINO_MEMBERSHIP_NODE_REPORT_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "membership/condition.h"

namespace kamino::membership {

// How far a node's ring has come: mutations up to these; see
// replica/log_ring.h.
struct Cursors {
  uint64_t received = 0;
  uint64_t applied = 0;
  uint64_t cleaned = 0;

  friend bool operator==(const Cursors&, const Cursors&) = default;
};

struct NodeReport {
  uint64_t view_id = 0;  // the newest view it knows
  Condition condition = Condition::kUnknown;
  // Outside: the view whose tail sends it every operation; 0: none does.
  uint64_t caught_up_view = 0;
  Cursors cursors = {};
  // In that view: for how long its successor has acknowledged nothing of what
  // it was sent, or has not been reached; and, at the head, for how long
  // nothing of what it has applied was completed. Zero: nothing is owed.
  absl::Duration append_debt = absl::ZeroDuration();
  absl::Duration completion_debt = absl::ZeroDuration();
  uint64_t view_digest = 0;  // of view_id's; 0: not known
  // The newest view in which its heap was a member's, also before a restart.
  uint64_t member_view = 0;
  // How much of the last second its core was in steps that took long
  // (AgentCore::Late).
  absl::Duration late = absl::ZeroDuration();

  // The newest view that it knows of.
  uint64_t newest_view() const { return std::max(view_id, member_view); }

  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_NODE_REPORT_H_
