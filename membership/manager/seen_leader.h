// The leader as another manager sees it in etcd: its name, its renewals, and
// for how long it has not renewed.
#ifndef KAMINO_MEMBERSHIP_MANAGER_SEEN_LEADER_H_
#define KAMINO_MEMBERSHIP_MANAGER_SEEN_LEADER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class SeenLeader {
 public:
  // `own`: this manager's name and settings, as in its renewals. `ttl`: that of
  // its leadership; `lease`: that of its nodes. Both are assumed of a leader
  // that has not stored its own.
  SeenLeader(kamino::internal::v1::RenewalRecord own, absl::Duration ttl,
             absl::Duration lease);

  // Etcd holds `stored`. Notes the leader, and since when it has not renewed.
  void Watch(const Etcd::Stored& stored, absl::Time now);
  // This manager leads.
  void OnLeading();
  // This manager has lost the leadership; the next leader is yet to be seen.
  void OnLost();

  // Whether no manager leads any more, as far as seen. `own_revision`: the
  // revision of this manager's last leadership.
  bool MayTakeOver(int64_t own_revision, absl::Time now) const;
  // The leader to name to callers; "": none may lead.
  std::string NameFor(absl::Time now) const;
  // How long leases of former leaders may be valid.
  absl::Duration FormerLeases() const;

  // The last renewal; empty: none, or one of an unknown format.
  const kamino::internal::v1::RenewalRecord& renewal() const {
    return renewal_;
  }
  // Revisions of the leader's key and of its renewal at etcd; 0: no key.
  int64_t leader_revision() const { return leader_revision_; }
  int64_t renewal_revision() const { return renewal_revision_; }
  // The settings in which this manager differs from the present or last leader;
  // "": none.
  const std::string& settings_differ() const { return settings_differ_; }

 private:
  // The TTL of the leader.
  absl::Duration Ttl() const;

  const kamino::internal::v1::RenewalRecord own_;
  const absl::Duration ttl_;
  const absl::Duration lease_;
  std::string name_;
  int64_t leader_revision_ = 0;
  int64_t renewal_revision_ = 0;
  kamino::internal::v1::RenewalRecord renewal_;
  absl::Time unmoved_since_ = absl::InfinitePast();
  std::string settings_differ_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_SEEN_LEADER_H_
