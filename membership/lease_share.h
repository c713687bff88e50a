// The duration of a lease, relative to the failure timeout.
#ifndef KAMINO_MEMBERSHIP_LEASE_SHARE_H_
#define KAMINO_MEMBERSHIP_LEASE_SHARE_H_

namespace kamino::membership {

// A lease lasts for this part of a failure timeout. The rest allows for clocks
// that run at different rates.
inline constexpr double kLeaseShare = 0.7;

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_LEASE_SHARE_H_
