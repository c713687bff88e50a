// ManagerCore's part that tells which members may go by a lease that a former
// leader has granted. Such a lease may be longer than this leader's, as after
// the failure timeout was lowered, and then the member counts as heard of for
// as long as it runs.
//
// A process goes by the lease alone that it took last, and makes one call after
// the other. So once a call of it says that it goes by a lease of this
// leadership:
//   - the call was sent after this leader granted that lease, when no former
//     leader granted leases any more (invariant 1);
//   - an answer to an earlier call, which might bring a former lease, is not
//     heeded any more.
// A leadership is named by a number that no other one has, in whatever order
// etcd's data comes and goes: not by a revision of etcd.
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

// Outside the view no lease counts. A node that was outside when this one began
// to lead may have kept a lease of a former leader.
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
