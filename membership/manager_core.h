// The state and decisions of a membership manager, without I/O or clocks: which
// nodes are alive, which hold a lease, when a view may change.
// docs/membership.md argues why this is safe.
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
// The manager also leaves out a member that does not answer another member,
// though the manager hears both, as if an operator removed it
// (membership/suspicion.h), and keeps it out for four failure timeouts, twice
// as long each further time (membership/suspects.h).
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
  // How long the manager keeps the place of a member that has ended in order.
  absl::Duration away_limit = absl::Minutes(5);
  // How long a new leader drops no node: nodes have to find it first, and a
  // call to a manager that hangs takes time (AgentOptions).
  absl::Duration takeover_grace = absl::Milliseconds(500);
  std::string address;  // of this manager, for messages; "": not known

  absl::Duration lease() const { return failure_timeout * kLeaseShare; }
  // How long a new leader waits to be found by those that it does not hear.
  absl::Duration TimeToBeFound() const {
    return std::max(failure_timeout, takeover_grace);
  }
};

// Not thread-safe. `now` is monotonic.
class ManagerCore {
 public:
  // What a registration may bring.
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr size_t kMaxLinkAddresses = 8;
  static constexpr size_t kHeapIdBytes = 16;

  explicit ManagerCore(ManagerOptions options);

  // --- Leadership.

  // This process was elected and `view` is what is stored (id 0: nothing).
  // Leases that former leaders granted, or grant, run for up to
  // `former_leases` from now. `progress` is what they have stored; what this
  // one knew when it led last, in the same recovery epoch, counts as well.
  // `lease_term` is the unique number of this leadership, sent with the leases
  // that it grants. With 0 it is not sent, and former leases count in full.
  void BecomeLeader(const View& view, absl::Duration former_leases,
                    absl::Time now, const Progress& progress = {},
                    uint64_t lease_term = 0);
  // It is sure to be the leader until then.
  void ExtendLeadership(absl::Time until) { leader_until_ = until; }
  void LoseLeadership();
  bool IsLeader(absl::Time now) const {
    return leading_ && now < leader_until_;
  }
  uint64_t lease_term() const { return lease_term_; }

  // --- Nodes; only while IsLeader. Success grants a lease.

  // `newest`: the newest view that the process knows, but for what members say
  // of themselves, and with what is in force in it; id 0: none.
  //
  // kInvalidArgument: something is missing; kFailedPrecondition: another
  // cluster, something that nodes must have in common they have not, an old
  // copy of a member's data, one of a recovery epoch that is over, or it says
  // what cannot be (membership/claims.h);
  // kAlreadyExists: a node of that id is alive with another heap, a later
  // incarnation is known, or an earlier one may hold a lease at another address
  // (at the same one it is dead, as only one process can listen there);
  // kResourceExhausted: max_nodes; kUnavailable: the node is being dropped from
  // the view, or waits for newer data, or for others to be heard; try again.
  absl::Status Register(const std::string& cluster_id, const Member& member,
                        const NodeReport& report, absl::Time now,
                        const View& newest = {});
  // Nodes whose registration has failed for good.
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
    kForced,  // now, even if one member alone is left with the data
  };
  // Takes a node out of the chain and keeps it out. kNotFound: the node is not
  // known. kFailedPrecondition: there is no chain yet, it could not go on
  // without the node, only one member would be left, or no node could take its
  // place. kResourceExhausted: too many nodes are excluded.
  absl::Status Exclude(const std::string& node_id, Removal how, absl::Time now);
  // It may join again.
  void Include(const std::string& node_id) { excluded_.erase(node_id); }

  // --- Releases. What a newer one brings is in force once it was finalized:
  // till then nodes of the older one may come back.

  struct Rise {
    std::string name;
    uint64_t from = 0;
    uint64_t to = 0;
  };
  // What all members could work with, and do not yet.
  std::vector<Rise> NotFinalized() const;
  // Has it put in force, with the next view in which nothing else changes;
  // NotFinalized says when. kFailedPrecondition: a member is not there, there
  // is no chain, or the store is behind; or, without `force`, a node that is
  // not in the chain could not come back.
  absl::Status Finalize(bool force, absl::Time now);

  // --- A store that is behind. Once a node says that it knows a later view
  // than what is stored, or another one of that id, or what is stored of the
  // chain's progress is of a later one, the store was put back from an older
  // copy, or emptied. Then nobody gets a lease, nor is a view made, until an
  // operator recovers, another leader finds another store, or no node has said
  // so for some time.

  // Why; "" when it is not so.
  std::string WhyBehind() const;
  // The view that Recover would have written.
  struct Recovery {
    View view;
    // The nodes that are alive hold all that was acknowledged.
    bool complete = false;
    // What an operator should do instead of forcing it: which nodes of the
    // newest known view to start for a complete recovery.
    std::string rather;
    // For old copies: the last mutation that the newest copy holds.
    uint64_t holds = 0;
    uint64_t acknowledged = 0;  // by the chain, as far as is known
  };
  // Plans a recovery from what the live nodes know and hold.
  // kFailedPrecondition: the store is not behind, not all returned members are
  // on old copies, and not all members are away or lost; or the live nodes
  // could not go on. kUnavailable: leases may still run.
  absl::StatusOr<Recovery> PlanRecovery(absl::Time now) const;
  // Has the recovery's view written. kFailedPrecondition: also when it is not
  // complete, and not forced; kUnavailable: also while another view is written.
  // One that is forced is of the next epoch.
  absl::StatusOr<Recovery> Recover(bool force, absl::Time now);
  // --- Members that came back on old copies of their data, all of them: nobody
  // who is alive holds what the chain is known to have acknowledged. They wait
  // for others, or for newer files, and are asked for nothing meanwhile; or
  // until an operator recovers from what they hold (old_copies.cc).

  // How far the chain has come; for the store, while this one leads and after.
  const Progress& progress() const { return progress_; }
  // For whom and for what; "" when it is not so.
  std::string WhyWaits(absl::Time now) const;

  // --- Planned stops (planned_stops.cc).

  // What a node that was just heard, and is stopping, is told.
  Parting PartingFor(const std::string& node_id, absl::Time now);
  // When a node that was just heard is to call again; zero: as always.
  absl::Duration CallAgainAfter(const std::string& node_id, absl::Time now);
  // For how long each of view().away was, by node id. This one's own, and
  // before that what the leader before it has stored.
  using AwayTimes = std::map<std::string, absl::Duration>;
  void NoteAway(const AwayTimes& before, absl::Time now);
  AwayTimes away_times(absl::Time now) const;
  // For how long that node's place is kept for it yet; zero: it is not away, or
  // counts as gone.
  absl::Duration AwayLeft(const std::string& node_id, absl::Time now) const;

  // Whether that node should ask the tail for the chain's state.
  bool ShouldJoin(const std::string& node_id, absl::Time now);

  // --- Views.

  // The view to write now, if any; to be asked many times per failure_timeout.
  // Until OnViewStored it stays the same one.
  std::optional<View> ProposeView(absl::Time now);
  // There is one that is not known to be stored.
  bool writes_view() const { return proposed_.has_value(); }
  // What is stored, after an attempt to write the proposed view.
  void OnViewStored(const View& view);
  const View& view() const { return view_; }

  struct Known {
    KnownNode state;
    absl::Duration silent;  // since it was heard of last
    bool joining;
    // Another member accuses it of not answering: it is being left out.
    bool suspect;
    // It was left out so: for how long it may not join yet.
    absl::Duration kept_out;
    // A member: how much longer it may hold a former leader's lease that
    // outlasts this leader's.
    absl::Duration former_lease;
  };
  std::vector<Known> nodes(absl::Time now) const;
  // The member that is being left out because another one accuses it.
  const std::optional<Suspicion>& suspicion() const {
    return suspects_.present();
  }
  // The members that the chain waits for: those that are not there while the
  // others cannot go on alone, and those that have stopped in order and without
  // which too few would be left. Contains members that were refused, or are
  // back without their data, only if there are no others: the chain then waits
  // for their data.
  std::vector<std::string> WaitingFor(absl::Time now) const;
  // Before the first view: how many more fresh nodes it takes; then 0.
  size_t NodesMissing(absl::Time now) const;

  const ManagerOptions& options() const { return options_; }

 private:
  struct Node {
    KnownNode state;        // but for `alive`, which the time decides
    absl::Time last_heard;  // ahead of now: while leases of others may run
    bool heard = false;     // by this leader, not only of
  };

  absl::Status TakeIn(const std::string& cluster_id, const Member& member,
                      const NodeReport& report, const View& newest,
                      absl::Time now);
  // That nothing of what it says cannot be.
  absl::Status CheckClaims(const Member& member,
                           const NodeReport& report) const;
  // kUnavailable: the store is behind; kFailedPrecondition: the node holds data
  // of another history, or says that the store is behind and does not show it.
  absl::Status CheckHistory(const std::string& node_id,
                            const NodeReport& report, const View& newest,
                            absl::Time now);
  // Whether it says that it knows more than the store.
  bool IsAhead(const NodeReport& report) const;
  // In what it has to be like the processes that act in `newest`, the newest
  // view that is known, and is not, as it was started again otherwise; "" when
  // there is nothing, or none of them is there: then all may have been changed.
  std::string MisfitWhileBehind(const KnownNode& node, const View& newest,
                                absl::Time now) const;
  // Takes note, while the store is behind, of a node that may be gone on with.
  // kAlreadyExists, kFailedPrecondition: as Register.
  absl::Status NoteWhileBehind(const Node& node, absl::Time now);
  // A view that a node knows in full.
  void Learn(const View& view);
  // Whether the store is behind by what it says of progress: a leader before
  // this one, to which etcd looked as it does now, has written that into it.
  void GoByProgress();
  // kUnavailable: this leader has just begun, and another member of the view,
  // which may know a later one, was not heard yet: so this one gets no lease.
  absl::Status CheckOthersHeard(const Member& member, absl::Time now) const;
  // The views of which anybody has said something, be it gone since.
  std::vector<KnownView> AllKnown() const;
  // The members of that view who are not there, so far as it is known who was
  // one.
  std::vector<std::string> MissingOf(const KnownView& known,
                                     absl::Time now) const;
  // For a recovery by `newest`, the newest view that is known:
  // Recovery::rather.
  std::string WhatMakesComplete(const KnownView& newest, absl::Time now) const;
  // Once nobody has said for long that the store is behind, it counts again.
  void ForgetOldClaims(absl::Time now);
  // The newest view that nodes know of, as far as they know it.
  View NewestKnown(absl::Time now) const;
  // Has the nodes of a view be known by that alone.
  void KnowMembersOf(const View& view, absl::Time last_heard);

  // Takes note of what members say. It is stored for good, and so takes the
  // word of two: what one says is acknowledged another one has applied.
  void NoteProgress();
  // By a member but that one, as it said last; what one who is alone in its
  // view says nobody else can know.
  uint64_t AppliedByOthers(const std::string& node_id) const;
  absl::Status CheckCluster(const Member& member,
                            const NodeReport& report) const;
  // Whether it is a member's, of a recovery epoch that is over.
  bool IsAbandoned(const Node& node) const;
  // The same and CheckHoldsAll, for one that registers. kUnavailable: nobody
  // holds what it lacks, or that may be yet to be heard of: it waits.
  absl::Status CheckReturn(const Node& node, absl::Time now);
  // Whether it is on a copy from before the life that the view names, which
  // nobody else makes good.
  bool IsOfEarlierLife(const Node& node, const Node& known,
                       absl::Time now) const;
  // Whether it is a member's node and holds less than was acknowledged in this
  // epoch.
  bool FallsShort(const Node& node) const;
  // Whether a member but that one is there and holds all.
  bool SomebodyHoldsAll(const std::string& but, absl::Time now) const;
  absl::Status Waits(const Node& node, absl::Time now);
  // Of those who wait, the one that holds most, and of `whole` only those of
  // which no entry was interrupted; null: nobody does.
  const Node* NewestOldCopy(absl::Time now, bool whole) const;
  // Of those outside the chain who hold what it once had, the one with the
  // newest state; null: nobody does, or a member is there.
  // `excluded`: of those only who are to stay out, else of the others.
  const Node* NewestOutside(absl::Time now, bool excluded) const;
  // Why; `stands`: there is a view, and it cannot go on.
  absl::Status NothingToRecoverFrom(bool stands, absl::Time now) const;
  // What an operator does instead.
  std::string WhyNotByRecovery(bool stands, absl::Time now) const;
  // kUnavailable: a member may hold a lease.
  absl::Status CheckNoneServes(absl::Time now) const;
  // The chain goes on with what that one holds.
  Recovery RecoveryFrom(const Node& node, absl::Time now) const;
  // Whom to start, or what, rather than that.
  std::string RatherThanOldCopies(absl::Time now) const;
  absl::StatusOr<Recovery> PlanFromOldCopies(absl::Time now) const;

  // The member that alone is alive and stays when this one goes; "" when it is
  // not so.
  std::string LastWithout(const std::string& node_id, const KnownNodes& states,
                          const Exclusions& excluded) const;
  // Whether the manager would carry out `admin remove` of this member.
  bool MayRemove(const std::string& node_id, const KnownNodes& states) const;
  KnownNode StateOf(const Node& node, absl::Time now) const;
  KnownNodes States(absl::Time now) const;
  // Call before Leaves: a suspect that disputes an entry with the head stays,
  // unless a view without it is already proposed.
  void HeedDispute(const Member& member, const NodeReport& report) {
    if (!proposed_.has_value()) suspects_.Heed(view_, member, report);
  }
  // It is to be removed, and hears nothing from us until it is.
  bool Leaves(const Node& node, absl::Time now) const;
  bool Alive(const Node& node, absl::Time now) const {
    return now - node.last_heard < options_.failure_timeout;
  }
  bool HearsAMember(absl::Time now) const;
  // A member has surrendered its lease, and what the others hold is known.
  bool MayHandOver(absl::Time now) const;
  // The view that follows from that alone.
  std::optional<View> HandedOver(absl::Time now) const;
  // It was away for too long: nobody waits for it.
  bool IsGone(const std::string& node_id, absl::Time now) const;
  // The view, as far as those who are gone are concerned.
  View WithoutGone(absl::Time now) const;
  // It has stopped, and all wait for it.
  bool KeepsPlace(const Member& member, absl::Time now) const;
  void Propose(std::optional<View> view);
  // --- Leases of former leaders (former_leases.cc).

  // Whether the process holds a lease of this leadership.
  bool HasRenewed(const NodeReport& report) const;
  // The time at which a node that sends `report` now counts as heard of.
  // `before`: that time before this report; later than `now` while a former
  // lease may run.
  absl::Time HeardAt(const NodeReport& report, absl::Time before,
                     absl::Time now) const;
  // Makes former leases count for the nodes that become members with `next`.
  void HeedFormerLeases(const View& next);
  // What an operator asked to be finalized; nothing else changes.
  std::optional<View> FinalizedView() const;
  absl::Status CheckMember(const std::string& cluster_id,
                           const Member& member) const;
  absl::Status CheckHeap(const Member& member, absl::Time now) const;
  // Whether those who register have to be set up like it: once there is a view
  // its members decide.
  bool Binds(const Node& node, absl::Time now) const;
  // kFailedPrecondition: with what a node has not in common with the others.
  static absl::Status InCommon(absl::string_view misfit);
  // That everyone who binds is set up like it.
  absl::Status CheckAgreement(const Member& member, absl::Time now) const;
  absl::Status CheckTakeover(const Node& known, const Member& member,
                             absl::Time now) const;
  // Whether the view names that heap of that node.
  bool HasPlace(const Member& member) const;
  // Whether it names that very process, which was not started again since.
  bool ActsInView(const Member& member) const;
  // What the former self of a member's node was known to have applied.
  uint64_t HeldBefore(const Node& known, const Member& member) const;
  // Not an old copy of what a member had.
  absl::Status CheckHoldsAll(const Node& node, absl::Time now) const;
  std::optional<Shortfall> ShortfallOfNode(const Node& node,
                                           absl::Time now) const;
  // Nodes outside the view that are not set up like its member, and came while
  // it was away, have to register again, and are told why they cannot stay; so
  // do members that were started again, where that one was not.
  void ForgetMisfits(const Member& member, absl::Time now);
  // Likewise, of what is in force.
  void ForgetMisfits();
  absl::Status MakeRoom(absl::Time now);
  // Every call with a time comes through here: a long gap means a hold-up.
  void Observe(absl::Time now);

  const ManagerOptions options_;
  bool leading_ = false;
  absl::Time leader_until_ = absl::InfinitePast();
  uint64_t lease_term_ = 0;
  // Since then a former lease runs no longer than one that is granted then.
  absl::Time former_leases_end_ = absl::InfinitePast();
  View view_;
  std::optional<View> proposed_;  // may be stored already
  bool recovers_ = false;         // an operator's recovery is what is proposed
  std::map<std::string, Node> nodes_;
  bool finalizing_ = false;  // as an operator asked
  Exclusions excluded_;      // as operators want it; stored with the next view
  Invitation invitation_;    // to join
  Suspects suspects_;
  Partings partings_;
  std::map<std::string, absl::Time> away_since_;  // of view_.away
  absl::Time last_call_ = absl::InfinitePast();
  absl::Time hold_until_ = absl::InfinitePast();  // nobody is dropped before

  // The store is behind: who says so, what it knows, and until when leases may
  // run that were granted before.
  std::string ahead_;  // "node n1 knows"; "": it is not
  KnownView ahead_view_;
  absl::Time leases_until_ = absl::InfinitePast();
  // Until then nobody gets a lease before all members of the view were heard.
  absl::Time hear_all_until_ = absl::InfinitePast();
  absl::Time ahead_said_ = absl::InfinitePast();  // by anybody, last
  View learned_;  // the newest that a node knows in full

  Refusals refusals_;
  Progress progress_;
  // Members on old copies that wait; some of them gone.
  std::map<std::string, Node> waiting_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_CORE_H_
