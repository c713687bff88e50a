// A node's side of membership, without its thread, its clock and its
// connections: which manager to call next, the meaning of an answer, and the
// lease.
//
// Use: call Next, make the call, pass the answer to OnAnswer, and wait for the
// returned time or until a view is requested; repeat.
#ifndef KAMINO_MEMBERSHIP_AGENT_CORE_H_
#define KAMINO_MEMBERSHIP_AGENT_CORE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/lateness.h"
#include "membership/lease_share.h"
#include "membership/manager_clusters.h"
#include "membership/manager_turns.h"
#include "membership/view.h"
#include "membership/view_source.h"
#include "membership/vouching.h"

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
    absl::Duration vouch = absl::Milliseconds(500);
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
  void NoteProgress(absl::Time now);
  // True when this step of the core has lasted more than one lease without the
  // waits for its medium, or more than two leases with them. The agent then
  // sends no heartbeat, and the manager treats the node as dead.
  // Waits count less because a disk may stand still for a moment, and with it
  // all nodes that use it. Two leases are less than one and a half failure
  // timeouts, so a core that waits forever leaves the chain within three.
  bool Hangs(absl::Time now) const;
  // How much of the last second the core spent in steps of over a quarter of a
  // lease; heartbeats report it.
  absl::Duration Late(absl::Time now) const;
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
    std::optional<Parting> parting;
    // Not OK: the cluster refuses this node; there is no next call.
    absl::Status refused;
  };
  Effects OnAnswer(const Call& call, const Answer& answer, absl::Time now);

  // Whether a node in view `view_id` may serve now, by a lease or by peer
  // leases of all other members of its view.
  bool LeaseValid(uint64_t view_id, absl::Time now) const {
    return !ended_ && view_id >= lease_view_id_ &&
           (now < lease_until_ || vouching_.Holds(view_id, now));
  }
  // Time since the request for the manager's last lease; infinite: there was
  // none.
  absl::Duration LeaseAge(absl::Time now) const {
    return now - (lease_until_ - lease_);
  }
  // The manager's failure timeout, computed from its leases (kLeaseShare);
  // infinite: it has granted none.
  absl::Duration FailureTimeout() const { return lease_ / kLeaseShare; }
  // Ends the present lease.
  void EndLease();

  // As ViewSource.
  void AskToPart() { stopping_ = std::max(stopping_, Stopping::kAsks); }
  void Surrender();

  // Where to keep connections while no peer lease is needed. A member that
  // already has as many connections as it needs refuses new ones.
  std::vector<std::string> AddressesOfVouchers() const {
    return vouching_.Addresses();
  }
  // Requests for peer leases, to be sent every vouch_interval(), whether
  // earlier ones were answered or not; none while the manager answers.
  std::vector<Vouching::Call> NextVouches(absl::Time now);
  // Call with the answer to such a request, or after vouch_deadline() without
  // one.
  void OnVouch(const Vouching::Call& call, const Vouching::Answer& answer);
  // Several intervals fit in the rest of a lease at that time, and in a peer
  // lease.
  absl::Duration vouch_interval() const;
  // A later peer lease is worth little.
  absl::Duration vouch_deadline() const { return options_.vouch / 2; }
  // Answers another member's request for a peer lease.
  Vouching::Answer Vouch(const kamino::internal::v1::VouchRequest& request,
                         absl::Time now);

  // Sets the report to the manager; the view's id never goes back.
  void SetReport(const NodeReport& report);

 private:
  absl::Duration MediumTime() const;
  Effects OnRegistered(const Call& call, const Answer& answer, absl::Time now);
  Effects OnHeartbeat(const Call& call, const Answer& answer, absl::Time now);
  // Returns the answer, with an error as its status if it is of another chain:
  // neither its view nor its lease counts then.
  Answer Checked(const Call& call, const Answer& answer) const;
  // Notes whether the manager has answered.
  void NoteReached(const Call& call, const Answer& answer, absl::Time now);
  // Whether the next call opens a new connection. Each new connection gets
  // twice as long as the one before.
  bool TakesNewConnection(absl::Time now);
  // Longer steps of the core count as slow.
  absl::Duration LongStep() const;
  absl::Duration CallDeadline() const;
  // Chooses the next manager after a failed call.
  void OnFailure(const Answer& answer, absl::Time now);
  // At most the heartbeat interval: a new leader waits for this node.
  absl::Duration RetryAfter() const {
    return std::min(options_.retry, interval_);
  }
  // Not OK: why no registration will succeed.
  absl::Status Refusal(const Answer& answer, absl::Time now);
  // The node has neither data of a cluster nor a view.
  bool IsOfNoCluster() const {
    return report_.cluster_uuid.empty() && last_view_.view_id() == 0;
  }
  bool AsksClusters() const {
    const size_t managers = options_.managers.size();
    return options_.learns_clusters && IsOfNoCluster() && managers > 1 &&
           asked_ < managers;
  }
  std::string OwnCluster() const;  // rpc::ClusterName
  // Replaces the lease of this process, even by one that ends earlier: the
  // manager relies on the lease that the next call reports.
  void TakeLease(absl::Time sent, uint32_t lease_ms, uint64_t lease_view_id,
                 uint64_t lease_term);
  // The view, if it is newer than the last one. A view that must wait is left
  // out; the manager sends it again.
  std::optional<View> TakeView(const kamino::internal::v1::ViewRecord& record,
                               absl::Time now);
  // The lease will expire soon.
  bool LacksManager(absl::Time now) const {
    return lease_until_ - now < lease_ / 2;
  }
  // Logs whether this node relies on the manager or on peer leases.
  void NoteWhoAnswers(absl::Time now);
  // Not OK: the manager's views are older than those that this node knows, or
  // of another history.
  absl::Status CheckHistory(const KnownView& newest) const;
  // Not OK: the view is of another cluster than the node's data.
  absl::Status CheckCluster(const kamino::internal::v1::ViewRecord& view) const;

  const Options options_;
  Member self_;

  absl::Time rest_until_ = absl::InfinitePast();
  bool ended_ = false;
  Stopping stopping_ = Stopping::kNo;
  absl::Time lease_until_ = absl::InfinitePast();
  uint64_t lease_view_id_ = 0;
  uint64_t lease_term_ = 0;  // 0: the manager has not said so
  absl::Duration lease_ = absl::InfiniteDuration();  // the manager's last one
  absl::Time progress_ = absl::InfinitePast();       // last seen
  absl::Duration medium_time_;                       // at that time
  Lateness lateness_;
  Vouching vouching_;
  bool stood_in_ = false;  // this node serves by peer leases; for the log
  NodeReport report_;

  ManagerTurns turns_;
  ManagerClusters clusters_;
  size_t asked_ = 0;  // managers asked for their clusters
  bool registered_ = false;
  // The last view from OnAnswer, without what members report.
  kamino::internal::v1::ViewRecord last_view_;
  absl::Duration interval_ = absl::Milliseconds(100);
  // No manager has answered since this call was sent.
  absl::Time silent_since_ = absl::InfiniteFuture();
  absl::Duration patience_;  // with a connection without answers
  int late_calls_ = 0;       // ended by their deadlines since the last answer
  absl::Time takeover_until_ = absl::InfiniteFuture();
  absl::Time next_complaint_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_CORE_H_
