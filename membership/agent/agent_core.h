// A node's side of membership, without its thread, its clock and its
// connections: which manager to call next, the meaning of an answer, and the
// lease.
//
// Use: call Next, make the call, pass the answer to OnAnswer, and wait for the
// returned time or until a view is requested; repeat.
#ifndef KAMINO_MEMBERSHIP_AGENT_AGENT_CORE_H_
#define KAMINO_MEMBERSHIP_AGENT_AGENT_CORE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/agent/core_steps.h"
#include "membership/agent/known_chain.h"
#include "membership/agent/manager_clusters.h"
#include "membership/agent/manager_patience.h"
#include "membership/agent/manager_turns.h"
#include "membership/agent/node_lease.h"
#include "membership/agent/view_source.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic and the time of the call.
class AgentCore {
 public:
  struct Options {
    std::string cluster_id;
    ChainId chain_id = kOnlyChain;
    std::vector<std::string> managers;  // host:port each, at least one
    // How long another incarnation of this node may still be alive.
    absl::Duration takeover_timeout = absl::Seconds(5);
    absl::Duration retry = absl::Milliseconds(100);
    // Initial deadline of a call: a hanging manager must not cost the lease.
    absl::Duration deadline = absl::Milliseconds(250);
    // Duration of a peer lease that this node grants. It delays the first view
    // of an incarnation, and a view soon after managers return.
    absl::Duration peer_lease_time = absl::Milliseconds(500);
    // The total time that the node's core has waited for its medium, for
    // example for syncs of a disk, including the present wait. Null: it never
    // waits. Any thread calls it.
    std::function<absl::Duration()> medium_time = nullptr;
    // Unique among the processes of this node; not 0.
    uint64_t process = 1;
    // Answers carry Answer::cluster_uuid. A node without a cluster then asks
    // each of its managers for it before it registers, if it has several.
    bool learns_clusters = false;
  };

  explicit AgentCore(Options options);

  // Call once, before everything else but the first report.
  void Begin(const Member& self, absl::Time now);

  struct Call {
    std::string manager;
    absl::Time sent;
    // Doubles after each call that ended by its deadline, so that a slow
    // manager is heard: up to 8 times Options::deadline, or to a quarter of the
    // last lease if that is less. It stays so until a manager that leads
    // answers within half of Options::deadline.
    absl::Duration deadline;
    // Open a new connection: the present one has brought no answer for long, so
    // it may be broken, or the manager may have moved.
    bool anew = false;
    bool registers = false;  // which of the two requests to send
    // A heartbeat that only asks for the manager's cluster.
    bool asks_cluster = false;
    kamino::internal::v1::RegisterRequest registration;
    kamino::internal::v1::HeartbeatRequest heartbeat;
  };
  Call Next(absl::Time now);

  // No call before `time`.
  void RestUntil(absl::Time time) { rest_until_ = time; }
  bool Rests(absl::Time now) const { return now < rest_until_; }

  // The node's core has made progress. The time between two of these calls is a
  // step.
  void NoteProgress(absl::Time now) {
    steps_.NoteProgress(lease_.length(), now);
  }
  // True when this step of the core has lasted more than one lease without the
  // waits for its medium, or more than two leases with them. The agent then
  // sends no heartbeat, and the manager treats the node as dead.
  // Waits count less because a disk may stand still for a moment, and with it
  // all nodes that use it. Two leases are less than one and a half failure
  // timeouts, so a core that waits forever leaves the chain within three.
  bool Hangs(absl::Time now) const { return steps_.Hang(lease_.length(), now); }
  // How much of the last second the core spent in steps of over a quarter of a
  // lease; heartbeats report it.
  absl::Duration Late(absl::Time now) const {
    return steps_.Late(lease_.length(), now);
  }
  // How long to wait before the next call.
  absl::Duration interval() const { return interval_; }

  struct Answer {
    // The cluster uuid in the answer's metadata, in hexadecimal digits; empty:
    // none.
    std::string cluster_uuid;
    // The call ended with a connection to the manager.
    bool connected = false;
    absl::Status status;
    // On success, the answer to the call's request.
    kamino::internal::v1::RegisterResponse registration;
    kamino::internal::v1::HeartbeatResponse heartbeat;
  };
  // Whether the manager has sent the answer, which may be an error: a standby,
  // or a manager that is not ready, answers with one.
  static bool IsAnswer(const Answer& answer);
  struct Effects {
    absl::Duration wait;       // before the next call
    std::optional<View> view;  // newer than any before
    // Whether the manager invites this node to join the chain; set after each
    // answer to a heartbeat.
    std::optional<bool> invited;
    // The manager's answer to a node that is stopping.
    std::optional<StopPermission> stop_permission;
    // Not OK: the cluster refuses this node; there is no next call.
    absl::Status refused;
  };
  Effects OnAnswer(const Call& call, const Answer& answer, absl::Time now);

  // As ViewSource.
  void AskToLeave() { stopping_ = std::max(stopping_, Stopping::kAsks); }
  void Surrender();

  NodeLease& lease() { return lease_; }
  const NodeLease& lease() const { return lease_; }

  // Sets the report to the manager; the view's id never goes back.
  void SetReport(const NodeReport& report);

 private:
  Effects OnRegistered(const Call& call, const Answer& answer, absl::Time now);
  Effects OnHeartbeat(const Call& call, const Answer& answer, absl::Time now);
  // Returns the answer, with an error as its status if it is of another chain:
  // neither its view nor its lease counts then.
  Answer Checked(const Call& call, const Answer& answer) const;
  // Chooses the next manager after a failed call.
  void OnFailure(const Answer& answer, absl::Time now);
  // At most the heartbeat interval: a new leader waits for this node.
  absl::Duration RetryAfter() const {
    return std::min(options_.retry, interval_);
  }
  // Not OK: why no registration will succeed.
  absl::Status Refusal(const Answer& answer, absl::Time now);
  bool AsksClusters() const {
    const size_t managers = options_.managers.size();
    return options_.learns_clusters && known_.IsOfNoCluster() && managers > 1 &&
           asked_ < managers;
  }
  // The view, if it is newer than the last one. A view that must wait is left
  // out; the manager sends it again.
  std::optional<View> TakeView(const kamino::internal::v1::ViewRecord& record,
                               absl::Time now);

  const Options options_;
  Member self_;

  absl::Time rest_until_ = absl::InfinitePast();
  Stopping stopping_ = Stopping::kNo;
  CoreSteps steps_;
  NodeLease lease_;
  KnownChain known_;

  ManagerTurns turns_;
  ManagerClusters clusters_;
  size_t asked_ = 0;  // managers asked for their clusters
  bool registered_ = false;
  absl::Duration interval_ = absl::Milliseconds(100);
  ManagerPatience patience_;
  absl::Time takeover_until_ = absl::InfiniteFuture();
  absl::Time next_complaint_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_AGENT_CORE_H_
