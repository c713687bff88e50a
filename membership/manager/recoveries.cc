#include "membership/manager/recoveries.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::membership {

absl::StatusOr<RecoveryPlan> Recoveries::Plan(absl::Time now) const {
  return watch_->behind() ? from_nodes_.Plan(now) : from_copies_.Plan(now);
}

absl::StatusOr<RecoveryPlan> Recoveries::Recover(bool force, absl::Time now) {
  if (context_->proposed.has_value()) {
    return absl::UnavailableError("a view is being stored; try again");
  }
  ASSIGN_OR_RETURN(RecoveryPlan recovery, Plan(now));
  if (!recovery.complete && !force) {
    return absl::FailedPreconditionError(absl::StrCat(
        recovery.holds > 0 && recovery.holds < context_->progress.acknowledged
            ? absl::StrCat("the nodes that run hold mutations up to ",
                           recovery.holds, ", but those up to ",
                           context_->progress.acknowledged,
                           " were acknowledged")
            : "the nodes that run may lack mutations that the chain has "
              "acknowledged",
        ": ", recovery.rather, ", or force it; it would be ",
        recovery.view.ToString()));
  }
  context_->proposed = recovery.view;
  context_->recovers = true;
  context_->excluded = recovery.view.excluded;
  return recovery;
}

}  // namespace kamino::membership
