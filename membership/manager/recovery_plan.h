// The plan of an operator's recovery.
#ifndef KAMINO_MEMBERSHIP_MANAGER_RECOVERY_PLAN_H_
#define KAMINO_MEMBERSHIP_MANAGER_RECOVERY_PLAN_H_

#include <cstdint>
#include <string>

#include "membership/view.h"

namespace kamino::membership {

struct RecoveryPlan {
  View view;  // that the recovery writes
  // The live nodes hold every acknowledged mutation.
  bool complete = false;
  // The operator's alternative to a forced recovery: the nodes of the newest
  // known view to start, so that the recovery is complete.
  std::string rather;
  // Stale copies: the last mutation that the newest copy holds.
  uint64_t holds = 0;
  uint64_t acknowledged = 0;  // by the chain, as far as is known
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_RECOVERY_PLAN_H_
