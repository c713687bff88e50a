// Decides the chain's next view, by pure functions.
#ifndef KAMINO_MEMBERSHIP_MANAGER_NEXT_VIEW_H_
#define KAMINO_MEMBERSHIP_MANAGER_NEXT_VIEW_H_

#include <map>
#include <optional>
#include <string>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// The state of a node at one moment.
struct KnownNode {
  Member member;
  // Heard recently enough to hold a lease, which it has not surrendered.
  bool alive = false;
  NodeReport report;  // the last one
  // A member: the last mutation that its heap had applied, by its own earlier
  // report.
  uint64_t held = 0;
  // A restarted member: the last mutation that it must have applied, by the
  // managers' store (membership/progress.h).
  uint64_t must_hold = 0;
  // A member that returned with a stale copy was refused, and its former
  // process was not heard since.
  bool turned_away = false;

  // It has surrendered its lease, so no view need wait until the lease expires.
  bool surrendered() const { return report.stopping == Stopping::kSurrendered; }
};

using KnownNodes = std::map<std::string, KnownNode>;  // by node id
using Exclusions = std::map<std::string, bool>;       // as View::excluded

// Whether the member runs on its data and holds all that was acknowledged,
// except perhaps for a mutation that a crash interrupted.
bool RunsWithAll(const Member& member, const KnownNodes& nodes);

// The mutation that a member holds, and the one that it must hold because it
// acknowledged it.
struct Shortfall {
  uint64_t holds = 0;
  uint64_t needs = 0;
  // The node, possibly itself, that knows it; "": the managers' store.
  std::string known_by;
};

// Whether a member of `view` is on a stale copy of its data. Such a member was
// restarted since, or reports kOutrun, and holds less than the whole chain has
// applied by the store or another member, less than a later member has
// received, or less than it reported itself. `nodes` must contain only reports
// from this and earlier views, which are true of the member before it was away.
std::optional<Shortfall> ShortfallOf(const View& view, const KnownNodes& nodes,
                                     const std::string& node_id);

// The view that should follow `view`; nothing: it should stay.
//
//   - Without a view: the first one, once `chain_length` fresh nodes with heaps
//     of one size are alive; those with the lowest ids, in order.
//   - With a view: the live members in the same order. A member that was
//     restarted on the same heap keeps its place under its new incarnation
//     (Kamino-Tx, section 5.3), unless its heap is of no use or a stale copy. A
//     member that is behind leaves if none that is not behind stays before it:
//     it would become the head.
//   - A member is dropped only if CanContinue allows it.
//   - If all members stay, are sound, and are fewer than `chain_length`, one
//     node that has caught up in this view becomes the tail.
//   - A node in `excluded` does not join; another one may take its place.
//   - A member that has surrendered its lease leaves and is away from then on;
//     its place is kept. But if fewer than LeastMembers, or none that can
//     continue, would be left, no member leaves: it is away in its place, and
//     the chain waits for it like for any other.
//   - No other node takes the place of a node that is away (View::away). A node
//     that the chain no longer waits for is not in away of `view`.
//
// The new view's id is one higher.
std::optional<View> NextView(const View& view, const KnownNodes& nodes,
                             size_t chain_length,
                             const Exclusions& excluded = {});

// Whether `next`, from NextView, only drops members that have surrendered their
// leases, and has no new processes, so that no lease need expire before it.
bool IsHandover(const View& view, const View& next, const KnownNodes& nodes);

// The answer to a member that asks to leave. All members that ask count as
// gone, and the remaining ones must all be sound.
StopPermission PermissionOf(const View& view, const KnownNodes& nodes,
                            const Exclusions& excluded = {});

// How many fresh nodes the first view still needs; 0 once there is a view.
size_t NodesMissing(const View& view, const KnownNodes& nodes,
                    size_t chain_length, const Exclusions& excluded);

// Whether the live members of `view` hold everything that the chain has
// acknowledged and can repair what is torn. One of these must hold:
//
//   - A member is sound, and either was never away or has met its neighbours
//     since.
//   - Two members are alive, and one holds everything, even if it is torn
//     (section 5.3, last paragraph).
//   - All other members returned without their data.
//   - The member is the only one.
//   - Nodes repair themselves (RepairsAlone), and one member holds
//     everything. If it returned unconfirmed, no live member that is to be
//     removed could confirm it.
//
// Members that are to be removed do not count, nor does a member whose node
// returned with a stale copy, even if its former process may hold a lease.
bool CanContinue(const View& view, const KnownNodes& nodes,
                 const Exclusions& excluded = {});

// Whether the chain can do without this member, which an operator wants
// removed. It may hold a lease and is dropped once it is silent, so the manager
// stops answering it from here on.
bool ShouldLeave(const View& view, const KnownNodes& nodes, size_t chain_length,
                 const Exclusions& excluded, const std::string& node_id);

// The node that should receive the chain's state next, if the chain lacks a
// member: `current` while it can, otherwise the lowest id; "": none.
std::string NextToJoin(const View& view, const KnownNodes& nodes,
                       size_t chain_length, const std::string& current,
                       const Exclusions& excluded = {});

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_NEXT_VIEW_H_
