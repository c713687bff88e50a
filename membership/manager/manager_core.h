// The state and decisions of a manager, without I/O or clocks: which nodes are
// alive, which hold a lease, when a view may change. docs/design/membership.md
// argues why this is safe.
//
// ManagerCore begins and ends a leadership and chooses the view to write. Its
// parts share a ManagerContext, and each has one task:
//   - NodeRegistry knows the nodes and when they were heard;
//   - Registrations checks and notes registrations and heartbeats;
//   - StoreWatch detects that the store of views is behind;
//   - OldCopies detects members on stale copies of their data;
//   - Recoveries plans and begins an operator's recovery from either;
//   - PlannedStops answers stopping members, KeptPlaces keeps their places;
//   - Removals tracks which nodes are to leave or to stay out;
//   - Finalizing puts new feature levels in force;
//   - HoldUps delays the dropping of silent nodes.
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
// (membership/manager/suspicion.h). It keeps the member out for four failure
// timeouts, and twice as long each further time
// (membership/manager/suspects.h).
//
// The manager does not drop nodes for silence that has a likelier cause than
// their death: if this process itself stood still, or if the remaining nodes
// could not go on, all nodes get another failure_timeout to be heard of.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_CORE_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_CORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/finalizing.h"
#include "membership/manager/hold_ups.h"
#include "membership/manager/invitation.h"
#include "membership/manager/kept_places.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/manager_options.h"
#include "membership/manager/next_view.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/old_copies.h"
#include "membership/manager/planned_stops.h"
#include "membership/manager/recoveries.h"
#include "membership/manager/refusals.h"
#include "membership/manager/registrations.h"
#include "membership/manager/removals.h"
#include "membership/manager/store_watch.h"
#include "membership/node_report.h"
#include "membership/progress.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class ManagerCore {
 public:
  explicit ManagerCore(ManagerOptions options);
  ManagerCore(const ManagerCore&) = delete;  // the parts point to each other
  ManagerCore& operator=(const ManagerCore&) = delete;

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
  uint64_t lease_term() const { return registry_.leases().term(); }

  // --- Nodes; only while IsLeader. On success, grants a lease.

  // `newest`: the newest view that the process knows, without what members
  // report, and with in_force; id 0: none.
  //
  // kInvalidArgument: a field is missing. kFailedPrecondition: the node is of
  // another cluster, lacks a common feature level, has a stale copy of a
  // member's data or data of a past recovery epoch, or reports something
  // impossible (membership/manager/claims.h). kAlreadyExists: the node is alive
  // with another heap, a later incarnation is known, or an earlier one may hold
  // a lease at another address (at the same address it is dead, because only
  // one process can listen there). kResourceExhausted: max_nodes. kUnavailable:
  // the node is being dropped from the view, or waits for newer data or for
  // other nodes; try again.
  absl::Status Register(const std::string& cluster_id, const Member& member,
                        const NodeReport& report, absl::Time now,
                        const View& newest = {});
  using Beat = Registrations::Beat;
  // kNotFound: register first.
  absl::Status Heartbeat(const std::string& cluster_id, const Beat& beat,
                         absl::Time now);
  const Refusals& refusals() const { return registrations_.refusals(); }
  // Whether the node should ask the tail for the chain's state.
  bool ShouldJoin(const std::string& node_id, absl::Time now);

  struct Known {
    KnownNode state;
    absl::Duration silent;  // since its last message
    bool joining;
    // Another member reports that it does not answer; it is being expelled.
    bool suspect;
    // It was expelled: how much longer it may not join.
    absl::Duration kept_out;
    // A member: how much longer it may hold a former leader's lease that
    // outlasts this leader's.
    absl::Duration former_lease;
  };
  std::vector<Known> nodes(absl::Time now) const;

  // --- Views.

  // The view to write now, if any; stays the same until OnViewStored. Call it
  // many times per failure_timeout.
  std::optional<View> ProposeView(absl::Time now);
  // A proposed view is not known to be stored.
  bool writes_view() const { return context_.proposed.has_value(); }
  // Call with the stored view after an attempt to write the proposed one.
  void OnViewStored(const View& view);
  const View& view() const { return context_.view; }

  // --- Parts.

  const ManagerOptions& options() const { return context_.options; }
  const NodeRegistry& registry() const { return registry_; }
  const StoreWatch& watch() const { return watch_; }
  const OldCopies& old_copies() const { return old_copies_; }
  PlannedStops& stops() { return stops_; }
  KeptPlaces& places() { return places_; }
  const KeptPlaces& places() const { return places_; }
  // Only while IsLeader: operators' requests.
  Removals& removals() { return removals_; }
  const Removals& removals() const { return removals_; }
  Finalizing& finalizing() { return finalizing_; }
  Recoveries& recoveries() { return recoveries_; }

 private:
  bool leading_ = false;
  absl::Time leader_until_ = absl::InfinitePast();
  // The parts point to those before them.
  ManagerContext context_;
  KeptPlaces places_;
  NodeRegistry registry_;
  StoreWatch watch_;
  OldCopies old_copies_;
  PlannedStops stops_;
  Removals removals_;
  Finalizing finalizing_;
  Recoveries recoveries_;
  Registrations registrations_;
  Invitation invitation_;  // to join
  HoldUps hold_ups_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_CORE_H_
