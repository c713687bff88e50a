// A node's side of membership: an AgentCore with its thread, its clock and its
// connections.
#ifndef KAMINO_MEMBERSHIP_AGENT_MEMBERSHIP_AGENT_H_
#define KAMINO_MEMBERSHIP_AGENT_MEMBERSHIP_AGENT_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "membership/agent/agent_core.h"
#include "membership/agent/manager_connections.h"
#include "membership/agent/peer_lease_calls.h"
#include "membership/agent/view_source.h"
#include "membership/lease_clock.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"

namespace kamino::membership {

struct AgentOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  std::vector<std::string> managers;  // host:port each, at least one
  // Called once, when the cluster has admitted this node; `manager` answered.
  // On the agent's thread, before any callback of the view source. May be
  // empty.
  std::function<void(const std::string& manager)> on_registered;
  // Decides whether this node accepts a manager's leases of this length.
  // kUnavailable: not decided yet; the agent asks again after `retry`, and
  // sends no heartbeat until then. Any other error ends the node. Called on the
  // agent's thread. May be empty.
  std::function<absl::Status(absl::Duration lease)> takes_lease;
  std::function<absl::Time()> clock = LeaseClockNow;  // any thread calls it
  // As AgentCore::Options.
  absl::Duration deadline = absl::Milliseconds(250);
  std::function<absl::Duration()> medium_time;
  absl::Duration takeover_timeout = absl::Seconds(5);
  absl::Duration retry = absl::Milliseconds(100);
  // To managers and to other nodes; null: no TLS.
  std::shared_ptr<const rpc::Credentials> credentials;
  // The cluster that calls to managers name; answers of another cluster's
  // managers are rejected. Null: calls name none.
  std::shared_ptr<const rpc::ClusterIdentity> cluster;
};

class MembershipAgent final : public ViewSource, public PeerLeaseGrantor {
 public:
  explicit MembershipAgent(AgentOptions options);
  ~MembershipAgent() override;  // Stop()

  absl::Status Start(const Member& self,
                     ViewSourceCallbacks callbacks) override;
  void RestBeforeStart(absl::Duration rest) override;
  void Stop() override;
  bool LeaseValid(uint64_t view_id) const override;
  absl::Duration FailureTimeout() const override;
  // As AgentCore. Thread-safe.
  absl::Duration LeaseAge() const;
  void RequestView() override;
  void NoteProgress() override;
  void AskToLeave() override;
  void Surrender() override;
  void SetReport(const NodeReport& report) override;
  PeerLeases::Answer GrantPeerLease(
      const kamino::internal::v1::VouchRequest& request) override;

 private:
  void Run();
  void AskForPeerLeases();
  // False: stopped meanwhile.
  bool Wait(absl::Duration wait);
  // The result of options_.takes_lease; kUnavailable: stopped meanwhile.
  absl::Status AwaitTakesLease(absl::Duration lease);
  AgentCore::Answer CarryOut(const AgentCore::Call& call);
  std::shared_ptr<grpc::Channel> ConnectTo(const std::string& manager) const;
  bool Awake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || requested_;
  }

  const AgentOptions options_;
  ViewSourceCallbacks callbacks_;  // constant after Start

  mutable absl::Mutex mutex_;
  AgentCore core_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;

  // Used by the thread only.
  bool registered_ = false;  // ever
  std::string asked_last_;
  ManagerConnections connections_;

  std::thread thread_;
  std::thread peer_lease_thread_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_MEMBERSHIP_AGENT_H_
