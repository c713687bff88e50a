// How long a node's lease lasts, by the failure timeout.
#ifndef KAMINO_MEMBERSHIP_LEASE_SHARE_H_
#define KAMINO_MEMBERSHIP_LEASE_SHARE_H_

namespace kamino::membership {

// The part of a failure timeout that a lease lasts. The rest leaves room for
// clocks that run at different rates.
inline constexpr double kLeaseShare = 0.7;

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_LEASE_SHARE_H_
