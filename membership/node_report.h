// A node's report to the manager.
#ifndef KAMINO_MEMBERSHIP_NODE_REPORT_H_
#define KAMINO_MEMBERSHIP_NODE_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "membership/condition.h"

namespace kamino::membership {

// The positions of a node's log ring: mutations up to these; see
// replica/log/log_ring.h.
struct Cursors {
  uint64_t received = 0;
  uint64_t applied = 0;
  uint64_t cleaned = 0;

  friend bool operator==(const Cursors&, const Cursors&) = default;
};

// A view that a node knows. The one of the higher epoch is newer; in the same
// epoch, that of the higher id.
struct KnownView {
  uint64_t epoch = 0;  // 0: unknown
  uint64_t id = 0;
  uint64_t digest = 0;  // 0: unknown

  bool IsBefore(const KnownView& other) const {
    if (epoch != 0 && other.epoch != 0 && epoch != other.epoch) {
      return epoch < other.epoch;
    }
    return id < other.id;
  }
};

// Limit of a release's name; the rest is cut off.
inline constexpr size_t kMaxReleaseBytes = 32;

// Whether a process is about to end by a planned stop.
enum class Stopping {
  kNo,
  kAsks,         // asks to leave the chain
  kSurrendered,  // ignores every lease that it has or receives
};

// The answer to a member that asks to leave.
enum class StopPermission {
  kUnknown,  // the manager does not know planned stops
  kWait,     // undecided
  kGo,       // it may surrender its lease, or already does so
  kStay,     // too many would stop: it stays a member
};

struct NodeReport {
  uint64_t view_id = 0;  // the newest view it knows
  Condition condition = Condition::kUnknown;
  // Not a member: the view whose tail sends it every mutation; 0: none does.
  uint64_t caught_up_view = 0;
  Cursors cursors = {};
  // In that view: how long the successor has acknowledged nothing of what it
  // was sent, or has been unreachable; and, at the head, how long no applied
  // mutation has completed. Zero: none is outstanding.
  absl::Duration append_wait = absl::ZeroDuration();
  absl::Duration completion_wait = absl::ZeroDuration();
  uint64_t view_digest = 0;  // of view_id's; 0: unknown
  // The newest view in which its heap belonged to a member, even before a
  // restart.
  uint64_t member_view = 0;
  uint64_t view_epoch = 0;  // of view_id's
  // The content of its heap: its id, which changes each time the node joins
  // anew, as Member::heap_id, and its cluster and epoch, as in View. Empty and
  // 0: none.
  std::string heap_id = {};
  std::string cluster_uuid = {};
  uint64_t epoch = 0;
  // How much of the last second its core spent in slow steps (AgentCore::Late).
  absl::Duration late = absl::ZeroDuration();
  // The first mutation of a log entry whose result diverges from the head's; 0:
  // none.
  uint64_t disputed = 0;
  // How many times its process died soon after its start.
  uint32_t restarts = 0;
  // The tail, during a state transfer: the pass (0: no transfer), and the bytes
  // left in it.
  uint64_t transfer_pass = 0;
  uint64_t transfer_bytes_left = 0;
  uint64_t transfer_pages = 0;  // of changed pages; 0: whole heap
  // The number of this report among its process' calls to managers, from 1. A
  // report may arrive after a later one, for example when a connection is cut
  // for a while. `process` tells a node's processes apart, even under one
  // incarnation; 0: not reported.
  uint64_t process = 0;
  uint64_t call = 0;
  // The release of its program (proto/version.h); "": not reported.
  std::string release = {};
  Stopping stopping = Stopping::kNo;
  // The leadership that granted the process's lease (ManagerCore::lease_term);
  // 0: none, or not reported.
  uint64_t lease_term = 0;

  // Whether the same process sent `other` after this report.
  bool IsOvertakenBy(const NodeReport& other) const {
    return process != 0 && process == other.process && call < other.call;
  }

  // The newest view that it knows.
  KnownView newest_view() const {
    const KnownView known{view_epoch, view_id, view_digest};
    return known.IsBefore(was_in()) ? was_in() : known;
  }
  // The newest view in which it was a member.
  KnownView was_in() const { return {epoch, member_view, 0}; }
  // It holds a state of the chain with everything that it acknowledged.
  bool ClaimsAll() const {
    return condition != Condition::kUnknown &&
           condition != Condition::kBehind &&
           condition != Condition::kReceiving;
  }

  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_NODE_REPORT_H_
