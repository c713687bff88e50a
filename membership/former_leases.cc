// The part of ManagerCore that tracks which members may still hold a lease of a
// former leader. Such a lease may be longer than this leader's, for example
// after the failure timeout was lowered; the member then counts as alive until
// that lease ends.
//
// A node process holds only the lease that it took last, and makes one call at
// a time. So once a call reports a lease of this leadership:
//   - the process sent the call after this leader granted that lease, when no
//     former leader granted leases any more (invariant 1);
//   - the process ignores late answers to earlier calls, which might grant a
//     former lease.
// Each leadership has a unique number. It is not a revision of etcd, because
// revisions repeat when etcd's data is restored from a backup.
#include <algorithm>

#include "membership/manager_core.h"

namespace kamino::membership {

bool ManagerCore::HasRenewed(const NodeReport& report) const {
  return lease_term_ != 0 && report.lease_term == lease_term_;
}

absl::Time ManagerCore::HeardAt(const NodeReport& report, absl::Time before,
                                absl::Time now) const {
  return HasRenewed(report) ? now : std::max(before, now);
}

// Leases of nodes outside the view do not count. So a node that was outside
// when this leader began to lead may join with a lease of a former leader.
void ManagerCore::HeedFormerLeases(const View& next) {
  for (const Member& member : next.members) {
    const auto found = nodes_.find(member.node_id);
    if (found == nodes_.end() || HasPlace(member) ||
        HasRenewed(found->second.state.report)) {
      continue;
    }
    found->second.last_heard =
        std::max(found->second.last_heard, former_leases_end_);
  }
}

}  // namespace kamino::membership
