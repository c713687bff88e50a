// Tracks which nodes may still hold a lease of a former leader. Such a lease
// may be longer than this leader's, for example after the failure timeout was
// lowered; the node then counts as alive until that lease ends.
//
// A node process holds only the lease that it took last, and makes one call at
// a time. So once a call reports a lease of this leadership:
//   - the process sent the call after this leader granted that lease, when no
//     former leader granted leases any more (invariant 1 of
//     membership/manager/manager_core.h);
//   - the process ignores late answers to earlier calls, which might grant a
//     former lease.
// Each leadership has a unique number. It is not a revision of etcd, because
// revisions repeat when etcd's data is restored from a backup.
#ifndef KAMINO_MEMBERSHIP_MANAGER_FORMER_LEASES_H_
#define KAMINO_MEMBERSHIP_MANAGER_FORMER_LEASES_H_

#include <cstdint>

#include "absl/time/time.h"
#include "membership/node_report.h"

namespace kamino::membership {

// Not thread-safe. Times are monotonic.
class FormerLeases {
 public:
  // A leadership begins. Leases of former leaders are valid for up to
  // `longest`, its own for `lease`. `term` is its unique number; 0: none, and
  // former leases count in full.
  void Begin(absl::Duration longest, absl::Duration lease, uint64_t term,
             absl::Time now);

  // The number of the leadership, which is sent with its leases.
  uint64_t term() const { return term_; }
  // A lease that this leader grants at this time or later lasts at least as
  // long as every former lease.
  absl::Time end() const { return end_; }
  // When a node that sends `report` now counts as last heard. `before`: that
  // time before this report; later than `now` while a former lease may be
  // valid.
  absl::Time HeardAt(const NodeReport& report, absl::Time before,
                     absl::Time now) const;
  // When a node whose last report is `report` counts as last heard once it is a
  // member. Leases of nodes outside the view do not count. So a node that was
  // outside when this leader began to lead may join with a lease of a former
  // leader.
  absl::Time HeardAsMember(const NodeReport& report, absl::Time before) const;

 private:
  // Whether the process holds a lease of this leadership.
  bool HasRenewed(const NodeReport& report) const;

  uint64_t term_ = 0;
  absl::Time end_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_FORMER_LEASES_H_
