#include "membership/manager/former_leases.h"

#include <algorithm>

namespace kamino::membership {

void FormerLeases::Begin(absl::Duration longest, absl::Duration lease,
                         uint64_t term, absl::Time now) {
  term_ = term;
  // A node that is silent for one of our leases from then on holds no other
  // one.
  end_ = now + std::max(longest - lease, absl::ZeroDuration());
}

bool FormerLeases::HasRenewed(const NodeReport& report) const {
  return term_ != 0 && report.lease_term == term_;
}

absl::Time FormerLeases::HeardAt(const NodeReport& report, absl::Time before,
                                 absl::Time now) const {
  return HasRenewed(report) ? now : std::max(before, now);
}

absl::Time FormerLeases::HeardAsMember(const NodeReport& report,
                                       absl::Time before) const {
  return HasRenewed(report) ? before : std::max(before, end_);
}

}  // namespace kamino::membership
