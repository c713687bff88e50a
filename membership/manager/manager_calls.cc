#include "membership/manager/manager_calls.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "membership/records.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::RenewalRecord;
using kamino::internal::v1::ViewRecord;
using Kind = EtcdCall::Kind;

Etcd::Keys KeysOf(const ManagerOptions& options, const std::string& prefix) {
  const std::string cluster =
      absl::StrCat(prefix, "/", options.cluster_id, "/");
  Etcd::Keys keys;
  keys.leader = absl::StrCat(cluster, "leader");
  keys.renewal = absl::StrCat(cluster, "renewal");
  keys.view = absl::StrCat(cluster, "chains/", options.chain_id, "/view");
  return keys;
}

}  // namespace

ChainRecord ChainRecordIn(const RenewalRecord& renewal) {
  ChainRecord chain;
  chain.progress = FromProto(renewal.progress());
  for (const auto& [node_id, ms] : renewal.away_ms()) {
    chain.away[node_id] = absl::Milliseconds(
        std::min<uint64_t>(ms, std::numeric_limits<int32_t>::max()));
  }
  return chain;
}

absl::StatusOr<View> ViewIn(const Etcd::Value& value,
                            const ManagerOptions& options) {
  if (value.mod_revision == 0) return View();
  ViewRecord record;
  if (!record.ParseFromString(value.value) || record.view_id() == 0 ||
      record.members().empty() || record.cluster_id() != options.cluster_id ||
      record.chain_id() != options.chain_id) {
    return absl::DataLossError(
        absl::StrCat("the view stored at etcd is not one of chain ",
                     options.chain_id, " of cluster ", options.cluster_id));
  }
  return FromProto(record);
}

ManagerCalls::ManagerCalls(const ManagerOptions& options,
                           const std::string& etcd_prefix, RenewalRecord own)
    : options_(options),
      keys_(KeysOf(options, etcd_prefix)),
      own_(std::move(own)) {}

EtcdCall ManagerCalls::Look() const { return Make(Kind::kLook); }

EtcdCall ManagerCalls::Campaign(int64_t leader_revision,
                                int64_t renewal_revision,
                                absl::Duration former_leases,
                                const ChainRecord& chain) const {
  EtcdCall call = Make(Kind::kCampaign, leader_revision);
  call.renewal_revision = renewal_revision;
  call.renewal = Renewal(former_leases, chain, /*resigns=*/false);
  return call;
}

EtcdCall ManagerCalls::Renew(int64_t leader_revision, bool resigns,
                             absl::Duration former_leases,
                             const ChainRecord& chain) const {
  EtcdCall call = Make(Kind::kRenew, leader_revision);
  call.renewal = Renewal(former_leases, chain, resigns);
  return call;
}

EtcdCall ManagerCalls::Replace(int64_t leader_revision, const View& view,
                               int64_t expected_revision) const {
  EtcdCall call = Make(Kind::kReplace, leader_revision);
  call.view = ToProto(view).SerializeAsString();
  call.expected_revision = expected_revision;
  return call;
}

EtcdCall ManagerCalls::Compact(int64_t compact_revision) const {
  EtcdCall call = Make(Kind::kCompact);
  call.compact_revision = compact_revision;
  return call;
}

EtcdCall ManagerCalls::Make(Kind kind, int64_t leader_revision) const {
  EtcdCall call;
  call.kind = kind;
  call.keys = keys_;
  call.leadership = {own_.leader(), leader_revision};
  return call;
}

std::string ManagerCalls::Renewal(absl::Duration former_leases,
                                  const ChainRecord& chain,
                                  bool resigns) const {
  RenewalRecord renewal;
  renewal.set_leader(own_.leader());
  renewal.set_ttl_ms(own_.ttl_ms());
  // The next leader must wait for former leaders' leases as well.
  renewal.set_node_lease_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(std::max(options_.lease(), former_leases))));
  renewal.set_resigned(resigns);
  *renewal.mutable_settings() = own_.settings();
  *renewal.mutable_progress() = ToProto(chain.progress, options_.chain_id);
  for (const auto& [node_id, time] : chain.away) {
    (*renewal.mutable_away_ms())[node_id] =
        static_cast<uint64_t>(absl::ToInt64Milliseconds(time));
  }
  return renewal.SerializeAsString();
}

}  // namespace kamino::membership
