// The state and decisions of a manager, without I/O or clocks: which nodes are
// alive, which hold a lease, when a view may change. docs/design/membership.md
// argues why this is safe.
//
// Invariants:
//   1. A lease is granted only while this manager is sure to be the leader.
//   2. A lease runs for less than failure_timeout, from the moment at which the
//      node sent its heartbeat. The manager treats a node as dead only after
//      failure_timeout without news of it, or if no view names its process,
//      which thus has no lease. So a view drops a node only after its lease.
//   3. While a view that drops a node is being written, and after that, the
//      node gets no lease under the old view.
//   4. A new leader counts every member of the view as heard of when it took
//      over, or later if leases of former leaders may outlast its own. A member
//      that reports a lease of this leadership has none of a former one: a
//      process holds only the lease that it took last, and it sent the report
//      after it took this lease. A view may leave out a member that has
//      surrendered its lease at once: the member ignores any lease that it has
//      or still receives, from any manager.
//   5. For one failure_timeout after it began to lead, or to trust the store
//      again, a manager grants no lease before it has heard all members of the
//      view: the store may be an older copy, and a member may know a later view
//      that dropped others.
//
// The manager also expels a member that does not answer another member although
// the manager hears both, as if an operator removed it
// (membership/suspicion.h). It keeps the member out for four failure timeouts,
// and twice as long each further time (membership/suspects.h).
//
// The manager does not drop nodes for silence that has a likelier cause than
// their death: if this process itself stood still, or if the remaining nodes
// could not go on, all nodes get another failure_timeout to be heard of.
#ifndef KAMINO_MEMBERSHIP_MANAGER_CORE_H_
#define KAMINO_MEMBERSHIP_MANAGER_CORE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "membership/invitation.h"
#include "membership/lease_share.h"
#include "membership/next_view.h"
#include "membership/partings.h"
#include "membership/progress.h"
#include "membership/refusals.h"
#include "membership/suspects.h"
#include "membership/view.h"

namespace kamino::membership {

struct ManagerOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  size_t chain_length = 4;
  absl::Duration failure_timeout = absl::Seconds(1);
  absl::Duration heartbeat_interval = absl::Milliseconds(100);
  size_t max_nodes = 64;  // registered, alive or not
  // How long the manager keeps the place of a member in a planned stop.
  absl::Duration away_limit = absl::Minutes(5);
  // How long a new leader drops no node: nodes must find it first, and a call
  // to a hanging manager takes time (AgentOptions).
  absl::Duration takeover_grace = absl::Milliseconds(500);
  std::string address;  // of this manager, for messages; "": unknown

  absl::Duration lease() const { return failure_timeout * kLeaseShare; }
  // How long a new leader waits for nodes that it has not heard.
  absl::Duration TimeToBeFound() const {
    return std::max(failure_timeout, takeover_grace);
  }
};

// Not thread-safe. `now` is monotonic.
class ManagerCore {
 public:
  // Limits of a registration.
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr size_t kMaxLinkAddresses = 8;
  static constexpr size_t kHeapIdBytes = 16;

  explicit ManagerCore(ManagerOptions options);

  // --- Leadership.

  // This process was elected, and `view` is stored (id 0: none). Leases of
  // former leaders are valid for up to `former_leases` from now. `progress` is
  // what they have stored; this manager's own knowledge from the same recovery
  // epoch counts as well. `lease_term` is the unique number of this leadership,
  // sent with its leases. 0: it is not sent, and former leases count in full.
  void BecomeLeader(const View& view, absl::Duration former_leases,
                    absl::Time now, const Progress& progress = {},
                    uint64_t lease_term = 0);
  // The leadership is certain until then.
  void ExtendLeadership(absl::Time until) { leader_until_ = until; }
  void LoseLeadership();
  bool IsLeader(absl::Time now) const {
    return leading_ && now < leader_until_;
  }
  uint64_t lease_term() const { return lease_term_; }

  // --- Nodes; only while IsLeader. On success, grants a lease.

  // `newest`: the newest view that the process knows, without what members
  // report, and with in_force; id 0: none.
  //
  // kInvalidArgument: a field is missing. kFailedPrecondition: the node is of
  // another cluster, lacks a common feature level, has a stale copy of a
  // member's data or data of a past recovery epoch, or reports something
  // impossible (membership/claims.h). kAlreadyExists: the node is alive with
  // another heap, a later incarnation is known, or an earlier one may hold a
  // lease at another address (at the same address it is dead, because only one
  // process can listen there). kResourceExhausted: max_nodes. kUnavailable: the
  // node is being dropped from the view, or waits for newer data or for other
  // nodes; try again.
  absl::Status Register(const std::string& cluster_id, const Member& member,
                        const NodeReport& report, absl::Time now,
                        const View& newest = {});
  // Nodes whose registration has failed permanently.
  const Refusals& refusals() const { return refusals_; }
  struct Beat {
    std::string node_id;
    uint64_t incarnation = 0;
    NodeReport report;
  };
  // kNotFound: register first.
  absl::Status Heartbeat(const std::string& cluster_id, const Beat& beat,
                         absl::Time now);
  // --- Operators; only while IsLeader. In force with the next view.

  enum class Removal {
    kNow,
    kDrain,   // once the chain is complete without it
    kForced,  // now, even if only one member would hold the data
  };
  // Removes a node from the chain and keeps it out. kNotFound: the node is
  // unknown. kFailedPrecondition: there is no chain yet; it could not continue
  // without the node; only one member would be left; or no node could take its
  // place. kResourceExhausted: too many nodes are excluded.
  absl::Status Exclude(const std::string& node_id, Removal how, absl::Time now);
  // The node may join again.
  void Include(const std::string& node_id) { excluded_.erase(node_id); }

  // --- Releases. Features of a newer release are in force once finalized;
  // until then nodes of the older one may return.

  struct Rise {
    std::string name;
    uint64_t from = 0;
    uint64_t to = 0;
  };
  // The levels that all members support but do not use yet.
  std::vector<Rise> NotFinalized() const;
  // Finalizes with the next view in which nothing else changes; NotFinalized is
  // then empty. kFailedPrecondition: a member is not there, there is no chain,
  // or the store is behind; or, without `force`, a node that is not in the
  // chain could not return.
  absl::Status Finalize(bool force, absl::Time now);

  // --- A store that is behind. If a node knows a later view than the stored
  // one, or another view with its id, or the stored progress is of a later
  // view, the store was emptied or restored from an older copy. The manager
  // then grants no lease and makes no view until an operator recovers, another
  // leader finds another store, or no node has reported such a view for some
  // time.

  // Why the store is behind; "": it is not.
  std::string WhyBehind() const;
  // The view that Recover would write.
  struct Recovery {
    View view;
    // The live nodes hold every acknowledged mutation.
    bool complete = false;
    // Instead of a forced recovery: which nodes of the newest known view to
    // start for a complete one.
    std::string rather;
    // Stale copies: the last mutation that the newest copy holds.
    uint64_t holds = 0;
    uint64_t acknowledged = 0;  // by the chain, as far as is known
  };
  // Plans a recovery from what the live nodes know and hold.
  // kFailedPrecondition: the store is not behind, not all returned members are
  // on stale copies, and not all members are away or lost; or the live nodes
  // could not continue. kUnavailable: leases may still be valid.
  absl::StatusOr<Recovery> PlanRecovery(absl::Time now) const;
  // Writes the view of the recovery. kFailedPrecondition: also if it is
  // incomplete and not forced. kUnavailable: also while another view is
  // written. A forced recovery begins the next epoch.
  absl::StatusOr<Recovery> Recover(bool force, absl::Time now);
  // --- Stale copies. All returned members are on stale copies of their data:
  // no live node holds all that the chain has acknowledged. They wait, without
  // being asked for anything, for other nodes or newer files, or until an
  // operator recovers from their data (old_copies.cc).

  // The chain's progress, for the store, while this manager leads and after.
  const Progress& progress() const { return progress_; }
  // Which nodes and data the chain waits for; "": none.
  std::string WhyWaits(absl::Time now) const;

  // --- Planned stops (planned_stops.cc).

  // The answer to a node that has just called and is stopping.
  Parting PartingFor(const std::string& node_id, absl::Time now);
  // When a node that has just called must call again; zero: at the usual
  // interval.
  absl::Duration CallAgainAfter(const std::string& node_id, absl::Time now);
  // How long each node of view().away has been away, by node id, as counted by
  // this manager, beginning with the times that the former leader stored.
  using AwayTimes = std::map<std::string, absl::Duration>;
  void NoteAway(const AwayTimes& before, absl::Time now);
  AwayTimes away_times(absl::Time now) const;
  // How much longer the node's place is kept; zero: it is not away, or its time
  // is over.
  absl::Duration AwayLeft(const std::string& node_id, absl::Time now) const;

  // Whether the node should ask the tail for the chain's state.
  bool ShouldJoin(const std::string& node_id, absl::Time now);

  // --- Views.

  // The view to write now, if any; stays the same until OnViewStored. Call it
  // many times per failure_timeout.
  std::optional<View> ProposeView(absl::Time now);
  // A proposed view is not known to be stored.
  bool writes_view() const { return proposed_.has_value(); }
  // Call with the stored view after an attempt to write the proposed one.
  void OnViewStored(const View& view);
  const View& view() const { return view_; }

  struct Known {
    KnownNode state;
    absl::Duration silent;  // since its last message
    bool joining;
    // Another member accuses it of not answering; it is being expelled.
    bool suspect;
    // It was expelled: how much longer it may not join.
    absl::Duration kept_out;
    // A member: how much longer it may hold a former leader's lease that
    // outlasts this leader's.
    absl::Duration former_lease;
  };
  std::vector<Known> nodes(absl::Time now) const;
  // The member that is being expelled because another one accuses it.
  const std::optional<Suspicion>& suspicion() const {
    return suspects_.present();
  }
  // The members that the chain waits for: absent ones, if the others cannot
  // continue alone, and those in a planned stop without which too few would be
  // left. Contains refused members, and members that returned without their
  // data, only if there are no others: the chain then waits for their data.
  std::vector<std::string> WaitingFor(absl::Time now) const;
  // Before the first view: the number of missing fresh nodes; then 0.
  size_t NodesMissing(absl::Time now) const;

  const ManagerOptions& options() const { return options_; }

 private:
  struct Node {
    KnownNode state;  // except `alive`, which depends on the time
    // in the future while leases of former leaders may be valid
    absl::Time last_heard;
    bool heard = false;  // by this leader itself
  };

  absl::Status TakeIn(const std::string& cluster_id, const Member& member,
                      const NodeReport& report, const View& newest,
                      absl::Time now);
  // Not OK: the report is impossible.
  absl::Status CheckClaims(const Member& member,
                           const NodeReport& report) const;
  // kUnavailable: the store is behind. kFailedPrecondition: the node's data is
  // of another history, or it reports a later view without evidence.
  absl::Status CheckHistory(const std::string& node_id,
                            const NodeReport& report, const View& newest,
                            absl::Time now);
  // Whether the node reports a later view than the store.
  bool IsAhead(const NodeReport& report) const;
  // The first setting in which the node differs from the processes of `newest`,
  // the newest known view, because it was restarted with other settings. "":
  // none, or no such process is there: all of them may have been changed.
  std::string MisfitWhileBehind(const KnownNode& node, const View& newest,
                                absl::Time now) const;
  // Notes, while the store is behind, a node that a recovery may use.
  // kAlreadyExists, kFailedPrecondition: as Register.
  absl::Status NoteWhileBehind(const Node& node, absl::Time now);
  // Learns a view that a node knows in full.
  void Learn(const View& view);
  // Checks whether the stored progress shows that the store is behind: a former
  // leader that saw the same store wrote it.
  void GoByProgress();
  // kUnavailable: this leader has just begun, and has not yet heard another
  // member, which may know a later view; no lease is granted.
  absl::Status CheckOthersHeard(const Member& member, absl::Time now) const;
  // All reported views, including those of nodes that are gone.
  std::vector<KnownView> AllKnown() const;
  // The members of that view that are not there, as far as its members are
  // known.
  std::vector<std::string> MissingOf(const KnownView& known,
                                     absl::Time now) const;
  // Recovery::rather, for a recovery by `newest`, the newest known view.
  std::string WhatMakesComplete(const KnownView& newest, absl::Time now) const;
  // Trusts the store again once no node has said for long that it is behind.
  void ForgetOldClaims(absl::Time now);
  // The newest view that nodes know, as far as they know it.
  View NewestKnown(absl::Time now) const;
  // Adds the nodes of a view as known ones.
  void KnowMembersOf(const View& view, absl::Time last_heard);

  // Notes the progress that members report. It is stored permanently and so
  // needs two reports: one member's acknowledged mutations must be applied at
  // another.
  void NoteProgress();
  // As last reported by the other members. A member that is alone in its view
  // has no other to confirm it.
  uint64_t AppliedByOthers(const std::string& node_id) const;
  absl::Status CheckCluster(const Member& member,
                            const NodeReport& report) const;
  // Whether the node was a member in a past recovery epoch.
  bool IsAbandoned(const Node& node) const;
  // IsAbandoned and CheckHoldsAll, for a registration. kUnavailable: no node
  // that holds the missing data was heard yet, so the node waits.
  absl::Status CheckReturn(const Node& node, absl::Time now);
  // Whether the node's data is older than the incarnation in the view, and no
  // other node makes up for it.
  bool IsOfEarlierLife(const Node& node, const Node& known,
                       absl::Time now) const;
  // Whether the node is a member and holds less than was acknowledged in this
  // epoch.
  bool FallsShort(const Node& node) const;
  // Whether another member is there that holds everything.
  bool AnotherHoldsAll(const std::string& but, absl::Time now) const;
  // Notes that the node waits for a node that holds more, and tells it so.
  absl::Status KeepWaiting(const Node& node, absl::Time now);
  // The waiting node that holds the most; `whole`: only nodes without an
  // interrupted entry. Null: none.
  const Node* NewestOldCopy(absl::Time now, bool whole) const;
  // The former member outside the chain with the newest state. Null: none, or a
  // member is there. `excluded`: only nodes that an operator excluded,
  // otherwise only others.
  const Node* NewestOutside(absl::Time now, bool excluded) const;
  // Why no recovery is possible; `stands`: there is a view, and it cannot
  // continue.
  absl::Status NothingToRecoverFrom(bool stands, absl::Time now) const;
  // The operator's alternative to a recovery.
  std::string WhyNotByRecovery(bool stands, absl::Time now) const;
  // kUnavailable: a member may hold a lease.
  absl::Status CheckNoneServes(absl::Time now) const;
  // A recovery from that node's data.
  Recovery RecoveryFrom(const Node& node, absl::Time now) const;
  // Nodes or data to bring back instead of such a recovery.
  std::string RatherThanOldCopies(absl::Time now) const;
  absl::StatusOr<Recovery> PlanFromOldCopies(absl::Time now) const;

  // The only live member that would stay when this one leaves; "": there are
  // others.
  std::string LastWithout(const std::string& node_id, const KnownNodes& states,
                          const Exclusions& excluded) const;
  // Whether the manager would carry out `admin remove` of this member.
  bool MayRemove(const std::string& node_id, const KnownNodes& states) const;
  KnownNode StateOf(const Node& node, absl::Time now) const;
  KnownNodes States(absl::Time now) const;
  // Call before Leaves: a suspect whose result diverges from the head's stays,
  // unless a view without it is already proposed.
  void HeedDispute(const Member& member, const NodeReport& report) {
    if (!proposed_.has_value()) suspects_.Heed(view_, member, report);
  }
  // The node is being removed and gets no answers until then.
  bool Leaves(const Node& node, absl::Time now) const;
  bool Alive(const Node& node, absl::Time now) const {
    return now - node.last_heard < options_.failure_timeout;
  }
  bool HearsAMember(absl::Time now) const;
  // A member has surrendered its lease, and the other members' data is known.
  bool MayHandOver(absl::Time now) const;
  // The next view if only that changes.
  std::optional<View> HandedOver(absl::Time now) const;
  // The node was away for too long: the chain no longer waits for it.
  bool IsGone(const std::string& node_id, absl::Time now) const;
  // The view without places for nodes that were away for too long.
  View WithoutGone(absl::Time now) const;
  // The member is in a planned stop, and the chain waits for it.
  bool KeepsPlace(const Member& member, absl::Time now) const;
  void Propose(std::optional<View> view);
  // --- Leases of former leaders (former_leases.cc).

  // Whether the process holds a lease of this leadership.
  bool HasRenewed(const NodeReport& report) const;
  // When a node that sends `report` now counts as last heard. `before`: that
  // time before this report; later than `now` while a former lease may be
  // valid.
  absl::Time HeardAt(const NodeReport& report, absl::Time before,
                     absl::Time now) const;
  // Applies former leases to the nodes that become members with `next`.
  void HeedFormerLeases(const View& next);
  // The view that finalizes, if an operator asked for it; nothing else changes.
  std::optional<View> FinalizedView() const;
  absl::Status CheckMember(const std::string& cluster_id,
                           const Member& member) const;
  absl::Status CheckHeap(const Member& member, absl::Time now) const;
  // Whether registering nodes must have the same settings as this one: once
  // there is a view, its members decide.
  bool Binds(const Node& node, absl::Time now) const;
  // kFailedPrecondition, with the setting that the node does not share.
  static absl::Status InCommon(absl::string_view misfit);
  // Not OK: the member differs from a node that Binds.
  absl::Status CheckAgreement(const Member& member, absl::Time now) const;
  absl::Status CheckTakeover(const Node& known, const Member& member,
                             absl::Time now) const;
  // Whether the view names that heap of that node.
  bool HasPlace(const Member& member) const;
  // Whether the view names that process, which has not been restarted since.
  bool ActsInView(const Member& member) const;
  // The last mutation that the member's former process is known to have
  // applied.
  uint64_t HeldBefore(const Node& known, const Member& member) const;
  // Not OK: the node has a stale copy of a member's data.
  absl::Status CheckHoldsAll(const Node& node, absl::Time now) const;
  std::optional<Shortfall> ShortfallOfNode(const Node& node,
                                           absl::Time now) const;
  // Makes nodes register again whose settings differ from a member's: nodes
  // outside the view that came while the member was away, and, if it was not
  // restarted, restarted members.
  void ForgetMisfits(const Member& member, absl::Time now);
  // The same for levels in force.
  void ForgetMisfits();
  absl::Status MakeRoom(absl::Time now);
  // Every call with a time passes through here: a long gap is a hold-up of this
  // process.
  void Observe(absl::Time now);

  const ManagerOptions options_;
  bool leading_ = false;
  absl::Time leader_until_ = absl::InfinitePast();
  uint64_t lease_term_ = 0;
  // From then on, a former lease lasts no longer than one that is granted then.
  absl::Time former_leases_end_ = absl::InfinitePast();
  View view_;
  std::optional<View> proposed_;  // may already be stored
  // the proposed view is that of an operator's recovery
  bool recovers_ = false;
  std::map<std::string, Node> nodes_;
  bool finalizing_ = false;  // as an operator asked
  Exclusions excluded_;    // requested by operators; stored with the next view
  Invitation invitation_;  // to join
  Suspects suspects_;
  Partings partings_;
  std::map<std::string, absl::Time> away_since_;  // of view_.away
  absl::Time last_call_ = absl::InfinitePast();
  absl::Time hold_until_ = absl::InfinitePast();  // no node is dropped before

  // The store is behind: which node says so, what it knows, and until when
  // earlier leases may be valid.
  std::string ahead_;  // "node n1 knows"; "": it is not behind
  KnownView ahead_view_;
  absl::Time leases_until_ = absl::InfinitePast();
  // Until then no node gets a lease before all members of the view were heard.
  absl::Time hear_all_until_ = absl::InfinitePast();
  absl::Time ahead_said_ = absl::InfinitePast();  // last report of it
  View learned_;  // the newest view that a node knows in full

  Refusals refusals_;
  Progress progress_;
  // Waiting members on stale copies; some are gone.
  std::map<std::string, Node> waiting_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_CORE_H_
