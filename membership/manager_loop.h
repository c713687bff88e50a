// A manager without its thread, its clock and its connection: takes part in the
// election at etcd, and while it leads, answers nodes and writes views. What it
// wants of etcd comes out as calls, one at a time.
//
// Use: Next again and again. Either carry its call out and tell OnAnswer, or
// wait as long as it says. Nodes are answered at any time, also meanwhile.
#ifndef KAMINO_MEMBERSHIP_MANAGER_LOOP_H_
#define KAMINO_MEMBERSHIP_MANAGER_LOOP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd_call.h"
#include "membership/manager_core.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic, and of the moment of the call.
class ManagerLoop {
 public:
  struct Options {
    ManagerOptions core;
    std::string name;  // where nodes reach this manager: host:port
    std::string etcd_prefix = "/kamino";
    int64_t leader_ttl_seconds = 3;  // etcd's lease on the leader key
    absl::Duration poll_interval = absl::Milliseconds(20);
  };

  explicit ManagerLoop(Options options);

  // --- The election.

  struct Step {
    std::optional<EtcdCall> call;
    absl::Duration wait;  // without a call
  };
  Step Next(absl::Time now);
  void OnAnswer(const EtcdAnswer& answer, absl::Time now);

  // Gives the leadership up, at the end: to be carried out last, with no call
  // outstanding, or lost. Nothing: there is nothing to give back.
  std::optional<EtcdCall> Resign();

  // --- Nodes.

  // All three fail with rpc::NotLeader while this one does not lead; else as
  // ManagerCore.
  absl::Status Register(const kamino::internal::v1::RegisterRequest& request,
                        kamino::internal::v1::RegisterResponse* response,
                        absl::Time now);
  absl::Status Heartbeat(const kamino::internal::v1::HeartbeatRequest& request,
                         kamino::internal::v1::HeartbeatResponse* response,
                         absl::Time now);
  // Has an operator's request carried out by the core.
  absl::Status Administer(
      absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request,
      absl::Time now);

  const ManagerCore& core() const { return core_; }

 private:
  std::optional<EtcdCall> NextCall(absl::Time now);
  EtcdCall MakeCall(EtcdCall::Kind kind) const;
  EtcdCall CampaignCall() const;
  EtcdCall ReplaceCall(const View& view) const;

  void OnLease(const EtcdAnswer& answer, absl::Time now);
  void OnKept(const EtcdAnswer& answer, absl::Time now);
  void OnKeptAsLeader(const absl::Status& kept, absl::Time now);
  void OnElection(const EtcdAnswer& answer, absl::Time now);
  void OnStored(const EtcdAnswer& answer, absl::Time now);

  // Starts the leadership that was won, unless what is stored is unreadable.
  absl::Status StartLeading(const Etcd::Election& election, absl::Time now);
  void StepDown(const absl::Status& why);
  // Says which members are missing, when the chain cannot go on without.
  void TellWhoIsMissing(absl::Time now);
  void TellWhoIsSuspect();
  // Logs an etcd error once a while.
  void Complain(const absl::Status& error, absl::Time now);
  std::string Key(absl::string_view name) const;
  std::string ViewKey() const;
  absl::Status CheckLeading(absl::Time now) const;

  const Options options_;
  ManagerCore core_;
  std::string leader_;  // last seen

  bool leading_ = false;
  int64_t lease_ = 0;  // of etcd's, on the leader key; 0: none
  absl::Time lease_until_ = absl::InfinitePast();
  bool leased_ = false;    // this round, before the campaign
  int64_t give_back_ = 0;  // a lease
  int64_t leader_revision_ = 0;
  int64_t view_revision_ = 0;

  std::optional<EtcdCall::Kind> outstanding_;
  absl::Time sent_;
  absl::Duration wait_;  // before the next round
  absl::Time next_complaint_ = absl::InfinitePast();
  std::vector<std::string> missing_;  // as told
  std::optional<Suspicion> suspect_;  // likewise
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_LOOP_H_
