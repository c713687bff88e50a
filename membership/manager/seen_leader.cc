#include "membership/manager/seen_leader.h"

#include <utility>

#include "glog/logging.h"
#include "membership/manager/manager_settings.h"

namespace kamino::membership {

using kamino::internal::v1::RenewalRecord;

SeenLeader::SeenLeader(RenewalRecord own, absl::Duration ttl,
                       absl::Duration lease)
    : own_(std::move(own)), ttl_(ttl), lease_(lease) {}

void SeenLeader::Watch(const Etcd::Stored& stored, absl::Time now) {
  const bool moved = stored.leader.mod_revision != leader_revision_ ||
                     stored.renewal.mod_revision != renewal_revision_ ||
                     unmoved_since_ == absl::InfinitePast();
  if (moved) {
    // Not from when etcd was asked, because the renewal may be later.
    unmoved_since_ = now;
    if (!renewal_.ParseFromString(stored.renewal.value)) renewal_.Clear();
    const std::string differs = SettingsDiffer(own_, renewal_);
    const bool changed = std::exchange(settings_differ_, differs) != differs;
    LOG_IF(WARNING, changed && !differs.empty()) << differs;
  }
  leader_revision_ = stored.leader.mod_revision;
  renewal_revision_ = stored.renewal.mod_revision;
  name_ = renewal_.resigned() ? "" : stored.leader.value;
}

void SeenLeader::OnLeading() {
  settings_differ_.clear();
  name_ = own_.leader();
}

void SeenLeader::OnLost() {
  unmoved_since_ = absl::InfinitePast();
  name_.clear();
}

bool SeenLeader::MayTakeOver(int64_t own_revision, absl::Time now) const {
  // A leader of an older version does not renew: its key ends with its lease.
  if (renewal_revision_ == 0) return leader_revision_ == 0;
  if (renewal_.resigned()) return true;
  // This manager's own former leadership.
  if (leader_revision_ == own_revision && renewal_.leader() == own_.leader()) {
    return true;
  }
  return now - unmoved_since_ >= Ttl();
}

std::string SeenLeader::NameFor(absl::Time now) const {
  // A leader that has not renewed for so long, or that this manager could not
  // look for, may be dead.
  const bool may_lead =
      name_ != own_.leader() &&
      (renewal_revision_ == 0 || now - unmoved_since_ < Ttl());
  return may_lead ? name_ : "";
}

absl::Duration SeenLeader::FormerLeases() const {
  // It was resigned, but leases may be valid.
  if (renewal_.node_lease_ms() > 0) {
    return absl::Milliseconds(renewal_.node_lease_ms());
  }
  // The keys were deleted, perhaps while a manager leads.
  return ttl_ + lease_;
}

absl::Duration SeenLeader::Ttl() const {
  return renewal_.ttl_ms() > 0 ? absl::Milliseconds(renewal_.ttl_ms()) : ttl_;
}

}  // namespace kamino::membership
