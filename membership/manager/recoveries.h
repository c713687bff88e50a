// Operators' recoveries: where the store is behind
// (membership/manager/store_watch.h), or no live node holds everything
// (membership/manager/old_copies.h), an operator may let the chain continue
// from what the live nodes know and hold.
#ifndef KAMINO_MEMBERSHIP_MANAGER_RECOVERIES_H_
#define KAMINO_MEMBERSHIP_MANAGER_RECOVERIES_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/old_copies.h"
#include "membership/manager/old_copy_recovery.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/store_recovery.h"
#include "membership/manager/store_watch.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Recoveries {
 public:
  Recoveries(ManagerContext* context, const NodeRegistry* registry,
             const StoreWatch* watch, const OldCopies* copies)
      : context_(context),
        watch_(watch),
        from_nodes_(context, registry, watch),
        from_copies_(context, registry, watch, copies) {}

  // Plans a recovery from what the live nodes know and hold.
  // kFailedPrecondition: the store is not behind, not all returned members are
  // on stale copies, and not all members are away or lost; or the live nodes
  // could not continue. kUnavailable: leases may still be valid.
  absl::StatusOr<RecoveryPlan> Plan(absl::Time now) const;
  // Proposes the view of the recovery. kFailedPrecondition: also if it is
  // incomplete and not forced. kUnavailable: also while another view is
  // written. A forced recovery begins the next epoch.
  absl::StatusOr<RecoveryPlan> Recover(bool force, absl::Time now);

 private:
  ManagerContext* const context_;
  const StoreWatch* const watch_;
  const StoreRecovery from_nodes_;
  const OldCopyRecovery from_copies_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_RECOVERIES_H_
