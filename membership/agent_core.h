// A node's side of membership without its thread, its clock and its
// connections: whom to ask what next, what an answer means, and the lease.
//
// Use: again and again Next, carry the call out, OnAnswer, wait as long as it
// says or until someone requests a view.
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

// Not thread-safe. `now` is monotonic, and of the moment of the call.
class AgentCore {
 public:
  struct Options {
    std::string cluster_id;
    ChainId chain_id = kOnlyChain;
    std::vector<std::string> managers;  // host:port each, at least one
    // How long another incarnation of this node may still be alive.
    absl::Duration takeover_timeout = absl::Seconds(5);
    absl::Duration retry = absl::Milliseconds(100);
    // Of a call, at first: a manager that hangs must not cost the lease.
    absl::Duration deadline = absl::Milliseconds(250);
    // How long what this node vouches for holds: it delays the first view of a
    // life, and one that comes soon after managers are back.
    absl::Duration vouch = absl::Milliseconds(500);
    // The total time that the node's core has waited for its medium, for
    // example for syncs of a disk, including the wait under way. Null: it never
    // waits. Any thread calls it.
    std::function<absl::Duration()> medium_time = nullptr;
    // Unique among the processes of this node; not 0.
    uint64_t process = 1;
    // Answers carry Answer::cluster_uuid. A node that belongs to no cluster yet
    // then asks each of its managers for it before it registers, if it has
    // several.
    bool learns_clusters = false;
  };

  explicit AgentCore(Options options);

  // Before everything else but the first report, once.
  void Begin(const Member& self, absl::Time now);

  struct Call {
    std::string manager;
    absl::Time sent;
    // Twice as long after each call that a deadline has ended, so that a slow
    // manager is heard: up to 8 times Options::deadline, or to a quarter of the
    // last lease if that is less. It stays so until a manager that leads
    // answers within half of Options::deadline.
    absl::Duration deadline;
    // Opens a new connection: the present one has brought no answer for long,
    // and the manager may have moved, or the connection may be broken.
    bool anew = false;
    bool registers = false;  // which of the two requests it is
    // A heartbeat that only asks which cluster the manager belongs to.
    bool asks_cluster = false;
    kamino::internal::v1::RegisterRequest registration;
    kamino::internal::v1::HeartbeatRequest heartbeat;
  };
  Call Next(absl::Time now);

  // There is no call before then.
  void RestUntil(absl::Time time) { rest_until_ = time; }
  bool Rests(absl::Time now) const { return now < rest_until_; }

  // The node's core was seen to go on; what lies between two of these moments
  // is a step.
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
  // How long to wait then before it is asked again.
  absl::Duration interval() const { return interval_; }

  struct Answer {
    // The cluster uuid in the answer's metadata, as hexadecimal digits; empty
    // if the manager named none.
    std::string cluster_uuid;
    // A connection to the manager was there as the call ended.
    bool connected = false;
    absl::Status status;
    // On success that of the call's request.
    kamino::internal::v1::RegisterResponse registration;
    kamino::internal::v1::HeartbeatResponse heartbeat;
  };
  // Whether a manager has sent the answer, be it an error: a manager that does
  // not lead, or is not ready, answers with one.
  static bool IsAnswer(const Answer& answer);
  struct Effects {
    absl::Duration wait;       // before the next call
    std::optional<View> view;  // newer than any before
    // Whether the manager wants this node to join the chain; after each answer
    // to a heartbeat.
    std::optional<bool> invited;
    // What the manager has said to this node, which is stopping.
    std::optional<Parting> parting;
    // Not OK: the cluster does not take this node; there is no next call.
    absl::Status refused;
  };
  Effects OnAnswer(const Call& call, const Answer& answer, absl::Time now);

  // Whether a node that is in view `view_id` may answer by itself now: by a
  // lease, or as all others of its view vouch for it.
  bool LeaseValid(uint64_t view_id, absl::Time now) const {
    return !ended_ && view_id >= lease_view_id_ &&
           (now < lease_until_ || vouching_.Holds(view_id, now));
  }
  // Since the manager was asked for the lease that it granted last; infinite:
  // there was none.
  absl::Duration LeaseAge(absl::Time now) const {
    return now - (lease_until_ - lease_);
  }
  // The manager's, by the leases that it grants (kLeaseShare); infinite: it has
  // granted none.
  absl::Duration FailureTimeout() const { return lease_ / kLeaseShare; }
  // From now on this node holds none.
  void EndLease();

  // As ViewSource.
  void AskToPart() { stopping_ = std::max(stopping_, Stopping::kAsks); }
  void Surrender();

  // Whom connections are kept to while no vouch is needed. Who has as many as
  // it takes by then refuses new ones.
  std::vector<std::string> AddressesOfVouchers() const {
    return vouching_.Addresses();
  }
  // Whom to ask to vouch for this node, every vouch_interval(), whether those
  // asked before have answered or not; nobody while the manager answers.
  std::vector<Vouching::Call> NextVouches(absl::Time now);
  // The answer to one of those calls, when it comes; or that there is none
  // after vouch_deadline().
  void OnVouch(const Vouching::Call& call, const Vouching::Answer& answer);
  // Several times in what is left of a lease then, and in a vouch.
  absl::Duration vouch_interval() const;
  // A vouch that comes later is worth little.
  absl::Duration vouch_deadline() const { return options_.vouch / 2; }
  // Another one asks this node.
  Vouching::Answer Vouch(const kamino::internal::v1::VouchRequest& request,
                         absl::Time now);

  // What the manager is told of this node; the view's id never goes back.
  void SetReport(const NodeReport& report);

 private:
  absl::Duration MediumTime() const;
  Effects OnRegistered(const Call& call, const Answer& answer, absl::Time now);
  Effects OnHeartbeat(const Call& call, const Answer& answer, absl::Time now);
  // The answer with an error for its status if it is OK and not of this node's
  // chain: neither its view nor its lease counts then.
  Answer Checked(const Call& call, const Answer& answer) const;
  // Notes whether the manager has answered.
  void NoteReached(const Call& call, const Answer& answer, absl::Time now);
  // Whether the next call opens a new connection. If so, that connection gets
  // twice as long as the one before until it is replaced in turn.
  bool TakesNewConnection(absl::Time now);
  // Steps of the core that take longer count as slow.
  absl::Duration LongStep() const;
  absl::Duration CallDeadline() const;
  // Chooses whom to ask next after a call has failed.
  void OnFailure(const Answer& answer, absl::Time now);
  // Not longer than between heartbeats: a new leader waits for this node.
  absl::Duration RetryAfter() const {
    return std::min(options_.retry, interval_);
  }
  // Why no registration will succeed, if so.
  absl::Status Refusal(const Answer& answer, absl::Time now);
  // The node has no data of a cluster, and no view.
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
  // The view if it is newer than the last one. A view that has to wait is left
  // out; the manager sends it again.
  std::optional<View> TakeView(const kamino::internal::v1::ViewRecord& record,
                               absl::Time now);
  // The lease will soon run out.
  bool LacksManager(absl::Time now) const {
    return lease_until_ - now < lease_ / 2;
  }
  // For the log: who is to answer for this node's being in its view.
  void NoteWhoAnswers(absl::Time now);
  // Not OK when the manager's views are older than what this node knows, or of
  // another history.
  absl::Status CheckHistory(const KnownView& newest) const;
  // Nor when a view is one of another cluster than its data.
  absl::Status CheckCluster(const kamino::internal::v1::ViewRecord& view) const;

  const Options options_;
  Member self_;

  absl::Time rest_until_ = absl::InfinitePast();
  bool ended_ = false;
  Stopping stopping_ = Stopping::kNo;
  absl::Time lease_until_ = absl::InfinitePast();
  uint64_t lease_view_id_ = 0;
  uint64_t lease_term_ = 0;  // 0: the manager has not said so
  absl::Duration lease_ = absl::InfiniteDuration();  // as the manager said last
  absl::Time progress_ = absl::InfinitePast();       // was seen last
  absl::Duration medium_time_;                       // was it then
  Lateness lateness_;
  Vouching vouching_;
  bool stood_in_ = false;  // others vouch for this node; for the log
  NodeReport report_;

  ManagerTurns turns_;
  ManagerClusters clusters_;
  size_t asked_ = 0;  // of options_.managers, for their clusters
  bool registered_ = false;
  // The last that came out of OnAnswer, without what members say of themselves.
  kamino::internal::v1::ViewRecord last_view_;
  absl::Duration interval_ = absl::Milliseconds(100);
  // No manager has answered a call since; the one sent first counts.
  absl::Time silent_since_ = absl::InfiniteFuture();
  absl::Duration patience_;  // with a connection that brings no answer
  int late_calls_ = 0;       // ended by their deadlines since the last answer
  absl::Time takeover_until_ = absl::InfiniteFuture();
  absl::Time next_complaint_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_CORE_H_
