#include "tests/simulation/sim_etcd.h"

#include <iterator>

namespace kamino::simulation {

void SimEtcd::Stop() {
  Trace("etcd stops");
  End();
}

void SimEtcd::Start() {
  Trace("etcd starts");
  Begin();
  for (auto& [id, lease] : leases_) lease.until = Clock() + lease.ttl;
}

void SimEtcd::Expire() {
  const absl::Time now = Clock();
  for (auto it = leases_.begin(); it != leases_.end();) {
    const auto lease = it++;
    if (lease->second.until <= now) Drop(lease->first);
  }
}

void SimEtcd::Drop(int64_t lease) {
  leases_.erase(lease);
  for (auto it = keys_.begin(); it != keys_.end();) {
    it = it->second.lease == lease ? keys_.erase(it) : std::next(it);
  }
}

void SimEtcd::Store(const std::string& key, const std::string& value,
                    int64_t lease) {
  Key& stored = keys_[key];
  stored.value.value = value;
  stored.value.mod_revision = ++revision_;
  if (stored.value.create_revision == 0) {
    stored.value.create_revision = revision_;
  }
  stored.lease = lease;
}

membership::Etcd::Value SimEtcd::Read(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? Value() : found->second.value;
}

absl::StatusOr<int64_t> SimEtcd::GrantLease(int64_t ttl_seconds) {
  Expire();
  const absl::Duration ttl = absl::Seconds(ttl_seconds);
  leases_[next_lease_] = {ttl, Clock() + ttl};
  return next_lease_++;
}

absl::Status SimEtcd::KeepAlive(int64_t lease) {
  Expire();
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return absl::NotFoundError("no such lease");
  found->second.until = Clock() + found->second.ttl;
  return absl::OkStatus();
}

absl::Status SimEtcd::RevokeLease(int64_t lease) {
  Expire();
  Drop(lease);
  return absl::OkStatus();
}

absl::StatusOr<membership::Etcd::Election> SimEtcd::Campaign(
    const std::string& leader_key, const std::string& name, int64_t lease,
    const std::string& view_key) {
  Expire();
  Election election;
  election.won = Read(leader_key).create_revision == 0;
  if (election.won) {
    if (leases_.count(lease) == 0) return absl::NotFoundError("no such lease");
    Store(leader_key, name, lease);
  }
  election.leader = Read(leader_key);
  election.view = Read(view_key);
  return election;
}

absl::StatusOr<membership::Etcd::Value> SimEtcd::Replace(
    const std::string& view_key, const std::string& value,
    int64_t expected_revision, const std::string& leader_key,
    int64_t leader_revision) {
  Expire();
  if (Read(leader_key).create_revision != leader_revision) {
    return absl::AbortedError("another manager leads");
  }
  if (Read(view_key).mod_revision == expected_revision) {
    Store(view_key, value, 0);
    Trace("stores a view, revision ", revision_);
  }
  return Read(view_key);
}

}  // namespace kamino::simulation
