// Plans a recovery where the store is behind
// (membership/manager/store_watch.h): the view that follows the newest known
// one, with the nodes of it that are there.
#ifndef KAMINO_MEMBERSHIP_MANAGER_STORE_RECOVERY_H_
#define KAMINO_MEMBERSHIP_MANAGER_STORE_RECOVERY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/store_watch.h"
#include "membership/node_report.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class StoreRecovery {
 public:
  StoreRecovery(const ManagerContext* context, const NodeRegistry* registry,
                const StoreWatch* watch)
      : context_(context), registry_(registry), watch_(watch) {}

  // Call only while the store is behind. kFailedPrecondition: the live nodes
  // could not continue. kUnavailable: leases may still be valid.
  absl::StatusOr<RecoveryPlan> Plan(absl::Time now) const;

 private:
  using Node = NodeRegistry::Node;

  // All reported views, including those of nodes that are gone.
  std::vector<KnownView> AllKnown() const;
  // The members of that view that are not there, as far as its members are
  // known.
  std::vector<std::string> MissingOf(const KnownView& known,
                                     absl::Time now) const;
  // RecoveryPlan::rather, for a recovery by `newest`, the newest known view.
  std::string WhatMakesComplete(const KnownView& newest, absl::Time now) const;

  const ManagerContext* const context_;
  const NodeRegistry* const registry_;
  const StoreWatch* const watch_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_STORE_RECOVERY_H_
