// Plans a recovery from stale copies (membership/manager/old_copies.h), or, if
// all members are away or lost, from a former member outside the chain.
#ifndef KAMINO_MEMBERSHIP_MANAGER_OLD_COPY_RECOVERY_H_
#define KAMINO_MEMBERSHIP_MANAGER_OLD_COPY_RECOVERY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/old_copies.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/store_watch.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class OldCopyRecovery {
 public:
  OldCopyRecovery(const ManagerContext* context, const NodeRegistry* registry,
                  const StoreWatch* watch, const OldCopies* copies)
      : context_(context),
        registry_(registry),
        watch_(watch),
        copies_(copies) {}

  // kFailedPrecondition: not all returned members are on stale copies, and not
  // all members are away or lost; or none can continue. kUnavailable: leases
  // may still be valid.
  absl::StatusOr<RecoveryPlan> Plan(absl::Time now) const;

 private:
  using Node = NodeRegistry::Node;

  // The former member outside the chain with the newest state. Null: none, or a
  // member is there. `excluded`: only nodes that an operator excluded,
  // otherwise only others.
  const Node* NewestOutside(absl::Time now, bool excluded) const;
  // Why no recovery is possible; `stands`: there is a view, and it cannot
  // continue.
  absl::Status NothingToRecoverFrom(bool stands, absl::Time now) const;
  // The operator's alternative to a recovery.
  std::string WhyNotByRecovery(bool stands, absl::Time now) const;
  // kUnavailable: a member may hold a lease.
  absl::Status CheckNoneServes(absl::Time now) const;
  // A recovery from that node's data.
  RecoveryPlan PlanFrom(const Node& node, absl::Time now) const;
  // Nodes or data to bring back instead of such a recovery.
  std::string RatherThanOldCopies(absl::Time now) const;

  const ManagerContext* const context_;
  const NodeRegistry* const registry_;
  const StoreWatch* const watch_;
  const OldCopies* const copies_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_OLD_COPY_RECOVERY_H_
