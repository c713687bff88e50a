// A manager without its thread, its clock and its connection: takes part in the
// election at etcd, and while it leads, answers nodes and writes views. It
// emits its calls to etcd one at a time.
//
// Use: call Next repeatedly. Either make its call and pass the answer to
// OnAnswer, or wait for the returned time. Nodes are answered at any time, even
// meanwhile.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOOP_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOOP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd_call.h"
#include "membership/manager/awaited_recovery.h"
#include "membership/manager/history_compaction.h"
#include "membership/manager/manager_calls.h"
#include "membership/manager/manager_core.h"
#include "membership/manager/manager_log.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/seen_leader.h"

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
  // The result of the last recovery (AwaitedRecovery::result).
  const std::optional<absl::Status>& recovered() const {
    return recovery_.result();
  }

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
    return leadership_.holds && !own.empty() ? own : cluster_uuid_;
  }
  const kamino::v1::ManagerSettings& settings() const {
    return calls_.own().settings();
  }
  // The events while this manager led, in times of `now`.
  const ChainEvents& events() const { return log_.events(); }
  // The settings in which this manager differs from the present or last leader;
  // "": none.
  const std::string& settings_differ() const { return seen_.settings_differ(); }

 private:
  // This manager's present or last leadership.
  struct Leadership {
    bool holds = false;
    absl::Time until = absl::InfinitePast();
    int64_t revision = 0;
    int64_t view_revision = 0;
    uint64_t number = 0;  // among those of this process
  };
  struct Round {
    std::optional<EtcdCall::Kind> outstanding;
    absl::Time sent;
    absl::Duration wait;  // before the next round
  };

  std::optional<EtcdCall> NextCall(absl::Time now);
  std::optional<EtcdCall> NextCallAsLeader(absl::Time now);
  EtcdCall RenewCall(int64_t leader_revision, bool resigns,
                     absl::Time now) const;

  void OnLooked(const EtcdAnswer& answer, absl::Time now);
  void OnElection(const EtcdAnswer& answer, absl::Time now);
  void OnRenewed(const EtcdAnswer& answer, absl::Time now);
  void OnStored(const EtcdAnswer& answer, absl::Time now);

  // Notes the present leader and the cluster's uuid.
  void Watch(const Etcd::Stored& stored, absl::Time now);
  void StartLeading(const Etcd::Stored& stored, const View& view,
                    absl::Time now);
  void StepDown(const absl::Status& why);
  absl::Status CheckLeading(absl::Time now) const;

  const Options options_;
  const ManagerCalls calls_;
  ManagerCore core_;
  Round round_;
  ManagerLog log_;

  // While another manager leads, or none does.
  SeenLeader seen_;
  std::string cluster_uuid_;  // of the view at etcd
  bool campaigns_ = false;    // with the next call
  int64_t give_back_ = 0;     // revision of a leadership to resign; 0: none

  Leadership leadership_;
  // Until when leases of former leaders may be valid.
  absl::Time former_leases_until_ = absl::InfinitePast();
  ChainRecord last_;  // when this manager led last
  HistoryCompaction compaction_;
  AwaitedRecovery recovery_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOOP_H_
