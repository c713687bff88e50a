// The calls of a manager to etcd, and the records that it stores there.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_CALLS_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd_call.h"
#include "membership/manager/kept_places.h"
#include "membership/manager/manager_options.h"
#include "membership/progress.h"
#include "membership/view.h"

namespace kamino::membership {

// The state of the chain that a leader stores with each renewal, for the next
// leader.
struct ChainRecord {
  Progress progress;
  AwayTimes away;
};
ChainRecord ChainRecordIn(const kamino::internal::v1::RenewalRecord& renewal);

// The view in the stored value; id 0: none is stored. kDataLoss: it is not one
// of this chain.
absl::StatusOr<View> ViewIn(const Etcd::Value& value,
                            const ManagerOptions& options);

// Immutable.
class ManagerCalls {
 public:
  // `own`: this manager's name, TTL and settings, as in its renewals.
  ManagerCalls(const ManagerOptions& options, const std::string& etcd_prefix,
               kamino::internal::v1::RenewalRecord own);

  const kamino::internal::v1::RenewalRecord& own() const { return own_; }

  EtcdCall Look() const;
  // `leader_revision`, `renewal_revision`: of the values that were seen, with
  // which the transaction compares.
  EtcdCall Campaign(int64_t leader_revision, int64_t renewal_revision,
                    absl::Duration former_leases,
                    const ChainRecord& chain) const;
  // In the leadership of `leader_revision`; `resigns`: and ends it.
  // `former_leases`: how long leases of former leaders may be valid.
  EtcdCall Renew(int64_t leader_revision, bool resigns,
                 absl::Duration former_leases, const ChainRecord& chain) const;
  EtcdCall Replace(int64_t leader_revision, const View& view,
                   int64_t expected_revision) const;
  EtcdCall Compact(int64_t compact_revision) const;

 private:
  EtcdCall Make(EtcdCall::Kind kind, int64_t leader_revision = 0) const;
  std::string Renewal(absl::Duration former_leases, const ChainRecord& chain,
                      bool resigns) const;

  const ManagerOptions options_;
  const Etcd::Keys keys_;
  const kamino::internal::v1::RenewalRecord own_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_CALLS_H_
