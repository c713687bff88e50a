// A manager without its thread, its clock and its connection: takes part in the
// election at etcd, and while it leads, answers nodes and writes views. It
// emits its calls to etcd one at a time.
//
// Use: call Next repeatedly. Either make its call and pass the answer to
// OnAnswer, or wait for the returned time. Nodes are answered at any time, even
// meanwhile.
#ifndef KAMINO_MEMBERSHIP_MANAGER_LOOP_H_
#define KAMINO_MEMBERSHIP_MANAGER_LOOP_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd_call.h"
#include "membership/kept_places.h"
#include "membership/manager_core.h"
#include "membership/manager_log.h"
#include "membership/recovery_plan.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic and the time of the call.
class ManagerLoop {
 public:
  struct Options {
    ManagerOptions core;
    std::string name;  // where nodes reach this manager: host:port
    std::string etcd_prefix = "/kamino";
    // Another manager takes over if the leader has not renewed for this long.
    absl::Duration leader_ttl = absl::Seconds(3);
    absl::Duration poll_interval = absl::Milliseconds(20);
    // Unique among manager processes. 0: none, and nodes are not told which
    // leadership a lease is of.
    uint64_t process = 0;
    // Whether the leader drops etcd's history older than an hour, which grows
    // with its renewals.
    bool compacts = true;
  };

  explicit ManagerLoop(Options options);

  // --- The election.

  struct Step {
    std::optional<EtcdCall> call;
    absl::Duration wait;  // if there is no call
  };
  Step Next(absl::Time now);
  void OnAnswer(const EtcdAnswer& answer, absl::Time now);

  // Resigns the leadership. The call must be the last one, with no call
  // outstanding, or lost. Nothing: there is no leadership to resign.
  std::optional<EtcdCall> Resign(absl::Time now);

  // --- Recoveries.

  // As ManagerCore, but not done before recovered() says so.
  absl::StatusOr<RecoveryPlan> Recover(bool force, absl::Time now);
  // The result of the last recovery. OK: its view is stored. kAborted: another
  // view is stored, or the result is unknown. Nothing: pending.
  const std::optional<absl::Status>& recovered() const { return recovered_; }
  // As recovered(), for a recovery whose operator no longer waits.
  absl::Status NotKnownWhether() const;

  // --- Nodes.

  // All three fail with rpc::NotLeader while this manager does not lead;
  // otherwise as ManagerCore. `caller`: the identity in the caller's
  // certificate, as a URI; "": no certificate. kPermissionDenied: it is not the
  // node's.
  absl::Status Register(const kamino::internal::v1::RegisterRequest& request,
                        kamino::internal::v1::RegisterResponse* response,
                        absl::Time now, absl::string_view caller = "");
  absl::Status Heartbeat(const kamino::internal::v1::HeartbeatRequest& request,
                         kamino::internal::v1::HeartbeatResponse* response,
                         absl::Time now, absl::string_view caller = "");
  // Runs an operator's request on the core.
  absl::Status Administer(
      absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request,
      absl::Time now);

  const ManagerCore& core() const { return core_; }
  // The uuid in the view that this manager stores while it leads, or in the
  // last view with a uuid that it has seen in etcd; "" before.
  const std::string& cluster_uuid() const {
    const std::string& own = core_.view().cluster_uuid;
    return leading_ && !own.empty() ? own : cluster_uuid_;
  }
  const kamino::v1::ManagerSettings& settings() const {
    return own_settings_.settings();
  }
  // The events while this manager led, in times of `now`.
  const ChainEvents& events() const { return log_.events(); }
  // The settings in which this manager differs from the present or last leader;
  // "": none.
  const std::string& settings_differ() const { return settings_differ_; }

 private:
  std::optional<EtcdCall> NextCall(absl::Time now);
  std::optional<EtcdCall> NextCallAsLeader(absl::Time now);
  EtcdCall MakeCall(EtcdCall::Kind kind) const;
  EtcdCall CampaignCall() const;
  EtcdCall RenewCall(int64_t leader_revision, bool resigns,
                     absl::Time now) const;
  std::string Renewal(absl::Duration former_leases, const Progress& progress,
                      const AwayTimes& away, bool resigns) const;
  EtcdCall ReplaceCall(const View& view) const;

  void OnLooked(const EtcdAnswer& answer, absl::Time now);
  void OnElection(const EtcdAnswer& answer, absl::Time now);
  void OnRenewed(const EtcdAnswer& answer, absl::Time now);
  void OnStored(const EtcdAnswer& answer, absl::Time now);

  // Notes the present leader, and since when it has not renewed.
  void Watch(const Etcd::Stored& stored, absl::Time now);
  // Whether no manager leads any more, as far as seen.
  bool MayTakeOver(absl::Time now) const;
  // The TTL of the leader that was seen last.
  absl::Duration SeenTtl() const;
  // How long leases of former leaders may be valid.
  absl::Duration FormerLeases() const;
  void StartLeading(const Etcd::Stored& stored, const View& view,
                    absl::Time now);
  void StepDown(const absl::Status& why);
  void EndRecovery(const absl::Status& status);
  absl::Status CheckLeading(absl::Time now) const;

  const Options options_;
  const Etcd::Keys keys_;
  const kamino::internal::v1::RenewalRecord own_settings_;
  std::string settings_differ_;
  ManagerCore core_;
  std::string leader_;  // last seen

  // While another manager leads, or none does.
  Etcd::Value seen_leader_;  // in etcd, last
  Etcd::Value seen_renewal_;
  std::string cluster_uuid_;                     // of the view at etcd
  kamino::internal::v1::RenewalRecord renewal_;  // seen_renewal_'s
  absl::Time unmoved_since_ = absl::InfinitePast();
  bool campaigns_ = false;  // with the next call
  int64_t give_back_ = 0;   // revision of a leadership to resign; 0: none

  bool leading_ = false;
  uint64_t leaderships_ = 0;  // of this process
  absl::Time leader_until_ = absl::InfinitePast();
  int64_t leader_revision_ = 0;  // of this manager's last leadership
  int64_t view_revision_ = 0;
  // Until when leases of former leaders may be valid.
  absl::Time former_leases_until_ = absl::InfinitePast();
  Progress last_progress_;  // when this manager led last
  AwayTimes last_away_;     // likewise
  absl::Time next_compaction_ = absl::InfinitePast();
  int64_t compact_revision_ = 0;  // etcd's, at the previous compaction
  int64_t revision_ = 0;          // etcd's, last seen

  std::optional<EtcdCall::Kind> outstanding_;
  absl::Time sent_;
  absl::Duration wait_;  // before the next round
  ManagerLog log_;
  std::optional<View> recovering_;  // an operator waits until it is stored
  std::optional<absl::Status> recovered_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_LOOP_H_
