// What a node says of itself to the manager.
#ifndef KAMINO_MEMBERSHIP_NODE_REPORT_H_
#define KAMINO_MEMBERSHIP_NODE_REPORT_H_

#include <cstdint>
#include <string>

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

// A view that somebody knows. Of two the one of the higher epoch is the newer
// one, of one epoch that of the higher id.
struct KnownView {
  uint64_t epoch = 0;  // 0: not known
  uint64_t id = 0;
  uint64_t digest = 0;  // 0: not known

  bool IsBefore(const KnownView& other) const {
    if (epoch != 0 && other.epoch != 0 && epoch != other.epoch) {
      return epoch < other.epoch;
    }
    return id < other.id;
  }
};

// Of a release's name; what a stranger says beyond is not kept.
inline constexpr size_t kMaxReleaseBytes = 32;

// Whether a process is about to end in order.
enum class Stopping {
  kNo,
  kAsks,         // for the chain to go on without it
  kSurrendered,  // no lease counts that it was or will be granted
};

// What a member that asks is told.
enum class Parting {
  kUnknown,  // the manager knows nothing of that
  kWait,     // it is not decided yet
  kGo,       // it may surrender its lease, or does so already
  kStay,     // more would stop than may be lost: it stays a member
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
  uint64_t view_epoch = 0;  // of view_id's
  // Of what its heap holds: an id of that, another one each time it joins anew,
  // as Member::heap_id, and the cluster and epoch that it is of, as in View.
  // Empty and 0: it holds nothing.
  std::string heap_id = {};
  std::string cluster_uuid = {};
  uint64_t epoch = 0;
  // How much of the last second its core was in steps that took long
  // (AgentCore::Late).
  absl::Duration late = absl::ZeroDuration();
  // The first mutation of a log entry that it disputes with the head; 0: none.
  uint64_t disputed = 0;
  // How often its process has died, each time soon after its start.
  uint32_t restarts = 0;
  // At the tail, of the heap on its way to a node that joins: which pass this
  // is over what has changed, 0: none is on its way; and what is left.
  uint64_t transfer_pass = 0;
  uint64_t transfer_bytes_left = 0;
  uint64_t transfer_pages = 0;  // of what has changed alone; 0: of all
  // Which of this process' calls to managers it came with, from 1: what an
  // earlier one says may be heard later, as when a connection is cut for a
  // while. `process` tells lives of a node apart, also those of one
  // incarnation; 0: the node does not say so.
  uint64_t process = 0;
  uint64_t call = 0;
  // That its program is of (proto/version.h); "": it does not say so.
  std::string release = {};
  Stopping stopping = Stopping::kNo;
  // The leadership that granted the lease that the process goes by
  // (ManagerCore::lease_term); 0: it has none, or does not say so.
  uint64_t lease_term = 0;

  // Said before `other`, by the same process.
  bool IsOvertakenBy(const NodeReport& other) const {
    return process != 0 && process == other.process && call < other.call;
  }

  // The newest view that it knows of.
  KnownView newest_view() const {
    const KnownView known{view_epoch, view_id, view_digest};
    return known.IsBefore(was_in()) ? was_in() : known;
  }
  // The newest one of which it was a member.
  KnownView was_in() const { return {epoch, member_view, 0}; }
  // What it holds is a state of the chain, to which all that it acknowledged
  // belongs.
  bool ClaimsAll() const {
    return condition != Condition::kUnknown &&
           condition != Condition::kBehind &&
           condition != Condition::kReceiving;
  }

  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_NODE_REPORT_H_
